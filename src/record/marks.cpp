#include "record/marks.hpp"

#include <limits>

#include "record/bytes.hpp"
#include "record/codec.hpp"

namespace record {
namespace {

enum class MessageKind : std::uint8_t {
  kCellBegin = 1,
  kCellEnd = 2,
  kSettings = 3,
  kClose = 4,
  kAck = 5,
  kSpill = 6,
  kHello = 7,
  kAskStacks = 8,
  kStacks = 9,
  kGuard = 10,
  kNearLimit = 11,
  kMoved = 12,
  kStalled = 13,
  kVisibleDevices = 14,
  kGroup = 15,
  kMonitor = 16,
  kMonitorState = 17,
  kApart = 18,
};

struct Encoder {
  std::string& out;

  void kind(MessageKind kind) const { out.push_back(static_cast<char>(kind)); }
  void operator()(const CellBegin& cell) const {
    kind(MessageKind::kCellBegin);
    encode(Record(cell), out);
  }
  void operator()(const CellEnd& cell) const {
    kind(MessageKind::kCellEnd);
    encode(Record(cell), out);
  }
  void operator()(const Settings& settings) const {
    kind(MessageKind::kSettings);
    encode(Record(settings), out);
  }
  void operator()(const Close& close) const {
    kind(MessageKind::kClose);
    ByteWriter(out).text(close.reason);
  }
  void operator()(const AskStacks& /*ask*/) const { kind(MessageKind::kAskStacks); }
  void operator()(const Stacks& stacks) const {
    kind(MessageKind::kStacks);
    encode(Record(stacks), out);
  }
  void operator()(const Guard& guard) const {
    kind(MessageKind::kGuard);
    ByteWriter(out).f64(guard.percent);
  }
  void operator()(const NearLimit& near) const {
    kind(MessageKind::kNearLimit);
    encode(Record(near), out);
  }
  void operator()(const Group& group) const {
    kind(MessageKind::kGroup);
    encode(Record(group), out);
  }
  void operator()(const Apart& apart) const {
    kind(MessageKind::kApart);
    ByteWriter writer(out);
    writer.svarint(apart.pid);
    writer.svarint(apart.start_ticks);
    writer.u8(apart.apart ? 1 : 0);
  }
  void operator()(const VisibleDevices& visible) const {
    kind(MessageKind::kVisibleDevices);
    ByteWriter writer(out);
    writer.u8(visible.set ? 1 : 0);
    writer.text(visible.list);
  }
  void operator()(const Monitor& monitor) const {
    kind(MessageKind::kMonitor);
    ByteWriter writer(out);
    writer.text(monitor.name);
    writer.text(monitor.about);
    writer.f64(monitor.rate_hz);
  }
  void operator()(const MonitorState& state) const {
    kind(MessageKind::kMonitorState);
    ByteWriter writer(out);
    writer.text(state.name);
    writer.text(state.reason);
  }
  void operator()(const Moved& moved) const {
    kind(MessageKind::kMoved);
    ByteWriter writer(out);
    writer.u8(static_cast<std::uint8_t>(moved.reason));
    writer.text(moved.path);
    writer.text(moved.text);
  }
  void operator()(const Stalled& stalled) const {
    kind(MessageKind::kStalled);
    ByteWriter(out).u8(stalled.over ? 1 : 0);
  }
  void operator()(const Ack& ack) const {
    kind(MessageKind::kAck);
    ByteWriter writer(out);
    writer.svarint(ack.index);
    writer.u8(ack.end ? 1 : 0);
    writer.svarint(ack.sample_ns);
  }
  void operator()(const Spill& spill) const {
    kind(MessageKind::kSpill);
    ByteWriter writer(out);
    writer.svarint(spill.offset);
    writer.u8(spill.over ? 1 : 0);
    writer.text(spill.reason);
  }
  void operator()(const Hello& hello) const {
    kind(MessageKind::kHello);
    ByteWriter(out).text(hello.label);
  }
};

template <typename T>
std::optional<Message> record_as(ChunkKind kind, std::string_view payload) {
  auto decoded = decode(kind, payload);
  if (!decoded) return std::nullopt;
  return Message(std::get<T>(std::move(*decoded)));
}

}  // namespace

void encode_message(const Message& message, std::string& out) { std::visit(Encoder{out}, message); }

std::optional<Message> decode_message(std::string_view bytes) {
  if (bytes.empty()) return std::nullopt;
  const std::string_view payload = bytes.substr(1);
  ByteReader reader(payload);
  switch (static_cast<MessageKind>(bytes.front())) {
    case MessageKind::kCellBegin:
      return record_as<CellBegin>(ChunkKind::kCellBegin, payload);
    case MessageKind::kCellEnd:
      return record_as<CellEnd>(ChunkKind::kCellEnd, payload);
    case MessageKind::kSettings:
      return record_as<Settings>(ChunkKind::kSettings, payload);
    case MessageKind::kClose: {
      Close close;
      close.reason = reader.text();
      if (!reader.ok()) return std::nullopt;
      return close;
    }
    case MessageKind::kAskStacks:
      return AskStacks{};
    case MessageKind::kStacks:
      return record_as<Stacks>(ChunkKind::kStacks, payload);
    case MessageKind::kGuard: {
      Guard guard;
      guard.percent = reader.f64();
      if (!reader.ok()) return std::nullopt;
      return guard;
    }
    case MessageKind::kVisibleDevices: {
      VisibleDevices visible;
      visible.set = reader.u8() != 0;
      visible.list = reader.text();
      if (!reader.ok()) return std::nullopt;
      return visible;
    }
    case MessageKind::kMonitor: {
      Monitor monitor;
      monitor.name = reader.text();
      monitor.about = reader.text();
      monitor.rate_hz = reader.f64();
      if (!reader.ok() || !(monitor.rate_hz > 0)) return std::nullopt;
      return monitor;
    }
    case MessageKind::kMonitorState: {
      MonitorState state;
      state.name = reader.text();
      state.reason = reader.text();
      if (!reader.ok()) return std::nullopt;
      return state;
    }
    case MessageKind::kNearLimit:
      return record_as<NearLimit>(ChunkKind::kNearLimit, payload);
    case MessageKind::kGroup:
      return record_as<Group>(ChunkKind::kGroup, payload);
    case MessageKind::kApart: {
      Apart apart;
      apart.pid = reader.svarint();
      apart.start_ticks = reader.svarint();
      apart.apart = reader.u8() != 0;
      constexpr std::int64_t kMostPid = std::numeric_limits<std::int32_t>::max();
      if (!reader.ok() || apart.pid <= 0 || apart.pid > kMostPid || apart.start_ticks < 0) {
        return std::nullopt;
      }
      return apart;
    }
    case MessageKind::kMoved: {
      Moved moved;
      const std::uint8_t reason = reader.u8();
      moved.reason = static_cast<MoveReason>(reason);
      moved.path = reader.text();
      moved.text = reader.text();
      if (!reader.ok() || reason > static_cast<std::uint8_t>(MoveReason::kUnnamed)) {
        return std::nullopt;
      }
      return moved;
    }
    case MessageKind::kStalled: {
      Stalled stalled;
      stalled.over = reader.u8() != 0;
      if (!reader.ok()) return std::nullopt;
      return stalled;
    }
    case MessageKind::kAck: {
      Ack ack;
      ack.index = reader.svarint();
      ack.end = reader.u8() != 0;
      ack.sample_ns = reader.svarint();
      if (!reader.ok()) return std::nullopt;
      return ack;
    }
    case MessageKind::kSpill: {
      Spill spill;
      spill.offset = reader.svarint();
      spill.over = reader.u8() != 0;
      spill.reason = reader.text();
      if (!reader.ok() || spill.offset < 0) return std::nullopt;
      return spill;
    }
    case MessageKind::kHello: {
      Hello hello;
      hello.label = reader.text();
      if (!reader.ok()) return std::nullopt;
      return hello;
    }
  }
  return std::nullopt;
}

}  // namespace record
