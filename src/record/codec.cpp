#include "record/codec.hpp"

#include "record/bytes.hpp"

namespace record {
namespace {

constexpr std::uint8_t kRealColumns = 1;  // what follows the columns of a schema

// One function per record says its fields in order, for both directions: `Field` is a Writer or
// a Reader.
class Writer {
 public:
  explicit Writer(std::string& out) noexcept : writer_(out) {}
  void operator()(const std::int64_t& value) { writer_.svarint(value); }
  void operator()(const double& value) { writer_.f64(value); }
  void operator()(const std::string& value) { writer_.text(value); }
  void operator()(const bool& value) { writer_.u8(value ? 1 : 0); }
  void operator()(const std::vector<Consumer>& list);
  template <typename Enum>
    requires std::is_enum_v<Enum>
  void operator()(const Enum& value) {
    writer_.u8(static_cast<std::uint8_t>(value));
  }
  void operator()(const std::vector<std::int64_t>& values) {
    writer_.varint(values.size());
    for (const std::int64_t value : values) writer_.svarint(value);
  }
  // Readers that know of whole numbers only pass a column without a name over: real ones are named
  // behind all the others, where there are some.
  void operator()(const std::vector<Column>& columns) {
    writer_.varint(columns.size());
    std::size_t real = 0;
    for (const Column& column : columns) {
      (*this)(column.real ? std::string() : column.name);
      (*this)(column.kind);
      real += column.real ? 1 : 0;
    }
    if (real == 0) return;
    writer_.u8(kRealColumns);
    writer_.varint(real);
    for (std::size_t place = 0; place < columns.size(); ++place) {
      const Column& column = columns[place];
      if (!column.real) continue;
      writer_.varint(place);
      (*this)(column.name);
      (*this)(column.unit);
    }
  }
  void operator()(const EdgeCounters& counters) {
    for (const auto field : kEdgeCounterFields) writer_.svarint(counters.*field);
  }
  // The last field of its record: nothing at all for the many cells without an engine.
  void operator()(const EngineTimes& times) {
    if (!times.any()) return;
    for (const Value one : {times.start_ns, times.carry_ns, times.return_ns}) writer_.svarint(one);
  }

 private:
  ByteWriter writer_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) noexcept : reader_(bytes) {}
  [[nodiscard]] bool ok() const noexcept { return reader_.ok() && in_range_; }
  void operator()(std::int64_t& value) { value = reader_.svarint(); }
  void operator()(double& value) { value = reader_.f64(); }
  void operator()(std::string& value) { value = reader_.text(); }
  void operator()(bool& value) { value = reader_.u8() != 0; }
  void operator()(std::vector<Consumer>& list);
  void operator()(Kind& value) { enumerator(value, Kind::kGauge); }
  void operator()(State& value) { enumerator(value, State::kVanished); }
  void operator()(Outcome& value) { enumerator(value, Outcome::kDied); }
  void operator()(GapReason& value) { enumerator(value, GapReason::kReplaced); }
  void operator()(GroupStep& value) { enumerator(value, GroupStep::kDropped); }
  void operator()(EndCause& value) { enumerator(value, EndCause::kOutOfMemory); }
  void operator()(std::vector<std::int64_t>& values) {
    values.resize(reader_.count(1));
    for (std::int64_t& value : values) value = reader_.svarint();
  }
  void operator()(std::vector<Column>& columns) {
    columns.resize(reader_.count(2));
    for (Column& column : columns) {
      (*this)(column.name);
      (*this)(column.kind);
    }
    if (reader_.left() == 0 || reader_.u8() != kRealColumns) return;
    for (std::size_t left = reader_.count(3); left > 0 && ok(); --left) {
      const std::uint64_t place = reader_.varint();
      in_range_ = in_range_ && place < columns.size();
      if (!in_range_) return;
      Column& column = columns[place];
      (*this)(column.name);
      (*this)(column.unit);
      column.real = true;
    }
  }
  void operator()(EdgeCounters& counters) {
    for (const auto field : kEdgeCounterFields) counters.*field = reader_.svarint();
  }
  void operator()(EngineTimes& times) {
    if (reader_.left() == 0) return;
    for (Value* one : {&times.start_ns, &times.carry_ns, &times.return_ns}) {
      *one = reader_.svarint();
    }
  }

 private:
  template <typename Enum>
  void enumerator(Enum& value, Enum last) {
    const std::uint8_t number = reader_.u8();
    in_range_ = in_range_ && number <= static_cast<std::uint8_t>(last);
    value = in_range_ ? static_cast<Enum>(number) : Enum{};
  }

  ByteReader reader_;
  bool in_range_ = true;
};

template <typename Field, typename... Members>
void each(Field& field, Members&... members) {
  (field(members), ...);
}

void fields(auto& field, auto& record)
  requires std::is_same_v<std::remove_cvref_t<decltype(record)>, Machine>
{
  each(field, record.time_ns, record.wall_offset_ns, record.host, record.boot_id,
       record.kernel_release, record.jumper_version, record.label, record.root_pid,
       record.root_start_ticks, record.sampler_pid, record.uid, record.cores_online,
       record.memory_bytes, record.affinity, record.process_source, record.user_source,
       record.job_source, record.node_source);
}
void fields(auto& field, auto& record)
  requires std::is_same_v<std::remove_cvref_t<decltype(record)>, Schema>
{
  each(field, record.columns);
}
void fields(auto& field, auto& record)
  requires std::is_same_v<std::remove_cvref_t<decltype(record)>, Settings>
{
  each(field, record.time_ns, record.rate_hz, record.reason);
}
void fields(auto& field, auto& record)
  requires std::is_same_v<std::remove_cvref_t<decltype(record)>, Missing>
{
  each(field, record.time_ns, record.name, record.state, record.reason);
}
void fields(auto& field, auto& record)
  requires std::is_same_v<std::remove_cvref_t<decltype(record)>, CellBegin>
{
  each(field, record.index, record.execution_count, record.time_ns, record.sample_ns,
       record.counters, record.source_bytes, record.source);
}
void fields(auto& field, auto& record)
  requires std::is_same_v<std::remove_cvref_t<decltype(record)>, CellEnd>
{
  each(field, record.index, record.execution_count, record.time_ns, record.sample_ns,
       record.outcome, record.counters, record.engine);
}
void fields(auto& field, auto& record)
  requires std::is_same_v<std::remove_cvref_t<decltype(record)>, Gap>
{
  each(field, record.begin_ns, record.end_ns, record.reason, record.text);
}
void fields(auto& field, auto& record)
  requires std::is_same_v<std::remove_cvref_t<decltype(record)>, End>
{
  each(field, record.time_ns, record.cause, record.detail, record.memory_peak_bytes,
       record.memory_limit_bytes, record.text);
}
void fields(auto& field, auto& record)
  requires std::is_same_v<std::remove_cvref_t<decltype(record)>, Stacks>
{
  each(field, record.time_ns, record.text);
}
void fields(auto& field, auto& record)
  requires std::is_same_v<std::remove_cvref_t<decltype(record)>, NearLimit>
{
  each(field, record.time_ns, record.source, record.memory_bytes, record.limit_bytes,
       record.largest);
}
void fields(auto& field, auto& record)
  requires std::is_same_v<std::remove_cvref_t<decltype(record)>, Told>
{
  each(field, record.wall_ns);
}
void fields(auto& field, auto& record)
  requires std::is_same_v<std::remove_cvref_t<decltype(record)>, Group>
{
  each(field, record.index, record.time_ns, record.step, record.name, record.engine);
}

void fields(auto& field, auto& record)
  requires std::is_same_v<std::remove_cvref_t<decltype(record)>, Device>
{
  each(field, record.time_ns, record.name, record.kind, record.model, record.id, record.index,
       record.memory_bytes, record.text);
}
void fields(auto& field, auto& record)
  requires std::is_same_v<std::remove_cvref_t<decltype(record)>, Consumer>
{
  each(field, record.pid, record.start_ticks, record.name, record.cpu_time_ns, record.memory_bytes,
       record.ended);
}
void fields(auto& field, auto& record)
  requires std::is_same_v<std::remove_cvref_t<decltype(record)>, Consumers>
{
  each(field, record.begin_ns, record.end_ns, record.others, record.others_cpu_time_ns,
       record.list);
}

void Writer::operator()(const std::vector<Consumer>& list) {
  writer_.varint(list.size());
  for (const Consumer& consumer : list) fields(*this, consumer);
}
void Reader::operator()(std::vector<Consumer>& list) {
  list.resize(reader_.count(6));
  for (Consumer& consumer : list) fields(*this, consumer);
}

template <typename T>
std::optional<Record> decode_as(std::string_view payload) {
  Reader reader(payload);
  T record{};
  fields(reader, record);
  if (!reader.ok()) return std::nullopt;
  return Record(std::move(record));
}

}  // namespace

void encode(const Record& record, std::string& out) {
  Writer writer(out);
  std::visit([&](const auto& one) { fields(writer, one); }, record);
}

std::optional<Record> decode(ChunkKind kind, std::string_view payload) {
  switch (kind) {
    case ChunkKind::kMachine:
      return decode_as<Machine>(payload);
    case ChunkKind::kSchema:
      return decode_as<Schema>(payload);
    case ChunkKind::kSettings:
      return decode_as<Settings>(payload);
    case ChunkKind::kMissing:
      return decode_as<Missing>(payload);
    case ChunkKind::kCellBegin:
      return decode_as<CellBegin>(payload);
    case ChunkKind::kCellEnd:
      return decode_as<CellEnd>(payload);
    case ChunkKind::kGap:
      return decode_as<Gap>(payload);
    case ChunkKind::kEnd:
      return decode_as<End>(payload);
    case ChunkKind::kDevice:
      return decode_as<Device>(payload);
    case ChunkKind::kConsumers:
      return decode_as<Consumers>(payload);
    case ChunkKind::kStacks:
      return decode_as<Stacks>(payload);
    case ChunkKind::kNearLimit:
      return decode_as<NearLimit>(payload);
    case ChunkKind::kTold:
      return decode_as<Told>(payload);
    case ChunkKind::kGroup:
      return decode_as<Group>(payload);
    case ChunkKind::kPlainRow:
    case ChunkKind::kSealedRows:
      break;
  }
  return std::nullopt;
}

ChunkKind kind_of(const Record& record) noexcept {
  struct Kinds {
    ChunkKind operator()(const Machine&) const { return ChunkKind::kMachine; }
    ChunkKind operator()(const Schema&) const { return ChunkKind::kSchema; }
    ChunkKind operator()(const Settings&) const { return ChunkKind::kSettings; }
    ChunkKind operator()(const Missing&) const { return ChunkKind::kMissing; }
    ChunkKind operator()(const CellBegin&) const { return ChunkKind::kCellBegin; }
    ChunkKind operator()(const CellEnd&) const { return ChunkKind::kCellEnd; }
    ChunkKind operator()(const Gap&) const { return ChunkKind::kGap; }
    ChunkKind operator()(const End&) const { return ChunkKind::kEnd; }
    ChunkKind operator()(const Device&) const { return ChunkKind::kDevice; }
    ChunkKind operator()(const Consumers&) const { return ChunkKind::kConsumers; }
    ChunkKind operator()(const Stacks&) const { return ChunkKind::kStacks; }
    ChunkKind operator()(const NearLimit&) const { return ChunkKind::kNearLimit; }
    ChunkKind operator()(const Told&) const { return ChunkKind::kTold; }
    ChunkKind operator()(const Group&) const { return ChunkKind::kGroup; }
  };
  return std::visit(Kinds{}, record);
}

}  // namespace record
