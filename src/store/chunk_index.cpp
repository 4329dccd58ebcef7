#include "store/chunk_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <variant>

#include "record/codec.hpp"

namespace store {
namespace {

using record::ChunkKind;

// A hostile file may hold any number of columns at two bytes each; no honest one has this many.
constexpr std::size_t kMostSchemaBytes = 4U << 20;
constexpr std::size_t kMostSchemaColumns = 1U << 20;
constexpr std::size_t kMostDevices = 256;
constexpr std::size_t kMostKeptValues = 1U << 20;

bool is_rows(ChunkKind kind) noexcept {
  return kind == ChunkKind::kPlainRow || kind == ChunkKind::kSealedRows;
}

bool is_known(ChunkKind kind) noexcept {
  return kind >= ChunkKind::kMachine && kind <= record::kLastChunkKind;
}

void append_damage(std::vector<record::Damage>& list, record::Damage damage) {
  if (!list.empty() && damage.bytes > 0 &&
      list.back().offset + list.back().bytes == damage.offset && list.back().bytes > 0) {
    list.back().bytes += damage.bytes;
  } else if (list.size() < record::LogReader::kMostDamages) {
    list.push_back(std::move(damage));
  } else {
    list.back().bytes = damage.offset + damage.bytes - list.back().offset;
    list.back().what = "more damage from here on";
  }
}

// An edge sample near the edge is worth more than one that a later sampler took.
bool is_nearer(std::int64_t sample_ns, std::int64_t than_ns, std::int64_t time_ns) noexcept {
  if (sample_ns <= 0) return false;
  if (than_ns <= 0) return true;
  const auto distance = [time_ns](std::int64_t sample) {
    return sample > time_ns
               ? static_cast<std::uint64_t>(sample) - static_cast<std::uint64_t>(time_ns)
               : static_cast<std::uint64_t>(time_ns) - static_cast<std::uint64_t>(sample);
  };
  return distance(sample_ns) < distance(than_ns);
}

}  // namespace

void ChunkIndex::add(const record::Chunk& chunk) {
  has_chunks_ = true;
  check_sequence(chunk);
  if (is_rows(chunk.kind)) {
    add_rows(chunk);
  } else if (is_known(chunk.kind)) {
    add_record(chunk);
  }  // else a kind of a later minor version: passed over
  if (chunk.kind != ChunkKind::kPlainRow) finalize(chunk.end);
}

void ChunkIndex::add_damage(record::Damage damage, std::optional<ChunkKind> damaged_kind) {
  // Rows after a lost schema could be read under the wrong names.
  if (damaged_kind == ChunkKind::kSchema) schema_.reset();
  next_sequence_.reset();
  append_damage(tail_damages_, std::move(damage));
}

void ChunkIndex::check_sequence(const record::Chunk& chunk) {
  if (chunk.kind == ChunkKind::kTold) return;  // a later kernel's, which has counted nothing
  if (next_sequence_ && *next_sequence_ != chunk.sequence) {
    const std::uint32_t missing = chunk.sequence - *next_sequence_;
    append_damage(
        tail_damages_,
        {chunk.offset, 0,
         missing < (1U << 31) ? fmt::format("{} chunks before this one are missing", missing)
                              : "this chunk is out of order"});
  }
  next_sequence_ = chunk.sequence + 1;
}

void ChunkIndex::add_rows(const record::Chunk& chunk) {
  const auto lost = [&](std::string_view why) {
    append_damage(tail_damages_, {chunk.offset, chunk.end - chunk.offset, std::string(why)});
  };
  const bool plain = chunk.kind == ChunkKind::kPlainRow;
  std::optional<record::Rows> rows;
  if (plain) {
    rows = record::decode_plain_row(chunk.payload);
    if (!rows) return lost("these rows can't be read");
    times_.columns = rows->columns;
    times_.time_ns.assign(rows->time_ns.begin(), rows->time_ns.end());
  } else if (!record::scan_sealed_rows(chunk.payload, times_)) {
    return lost("these rows can't be read");
  }
  if (!schema_) return lost("the schema of these rows is missing");
  if (times_.columns != schemas_[*schema_]->columns.size()) {
    return lost("these rows don't fit their schema");
  }
  RowChunk entry{chunk.offset, last_sample_ns, 0, last_sample_ns, *schema_};
  for (const std::int64_t time_ns : times_.time_ns) {
    if (time_ns <= entry.last_ns) continue;
    if (entry.first_ns == 0) entry.first_ns = time_ns;
    entry.last_ns = time_ns;
  }
  if (entry.first_ns == 0) {
    // What is left of plain rows behind their sealed form; their numbers mean nothing any more.
    next_sequence_.reset();
    return;
  }
  row_chunks_.push_back(entry);
  if (first_sample_ns == 0) first_sample_ns = entry.first_ns;
  last_sample_ns = entry.last_ns;
  if (!plain) return;
  const bool kept = kept_values_ + rows->columns <= kMostKeptValues;
  if (kept) kept_values_ += rows->columns;
  kept_.push_back(kept ? std::make_shared<const record::Rows>(*std::move(rows)) : nullptr);
}

void ChunkIndex::add_record(const record::Chunk& chunk) {
  const bool too_large =
      chunk.kind == ChunkKind::kSchema && chunk.payload.size() > kMostSchemaBytes;
  auto record = too_large ? std::nullopt : record::decode(chunk.kind, chunk.payload);
  if (!record) {
    if (chunk.kind == ChunkKind::kSchema) schema_.reset();
    append_damage(tail_damages_,
                  {chunk.offset, chunk.end - chunk.offset, "this record can't be read"});
    return;
  }
  std::visit([&](auto& one) { take(std::move(one), chunk); }, *record);
}

void ChunkIndex::take(record::Machine record, const record::Chunk& /*chunk*/) {
  machine = record;
  machines.push_back(std::move(record));
}

void ChunkIndex::take(record::Schema record, const record::Chunk& chunk) {
  schema_.reset();
  if (record.columns.size() > kMostSchemaColumns - schema_columns_) {
    append_damage(tail_damages_, {chunk.offset, chunk.end - chunk.offset, "too many columns"});
    return;
  }
  schema_columns_ += record.columns.size();
  schema_ = static_cast<std::uint32_t>(schemas_.size());
  schemas_.push_back(std::make_shared<const record::Schema>(std::move(record)));
}

void ChunkIndex::take(record::Settings record, const record::Chunk& /*chunk*/) {
  settings.push_back(std::move(record));
}

void ChunkIndex::take(record::Missing record, const record::Chunk& /*chunk*/) {
  missing.push_back(std::move(record));
}

void ChunkIndex::take(record::Gap record, const record::Chunk& /*chunk*/) {
  gaps.push_back(std::move(record));
}

void ChunkIndex::take(record::End record, const record::Chunk& /*chunk*/) {
  end = std::move(record);
}

// Said again by each sampler: the newest counts.
void ChunkIndex::take(record::Device record, const record::Chunk& /*chunk*/) {
  const auto same = [&](const record::Device& one) { return one.name == record.name; };
  const auto known = std::ranges::find_if(devices, same);
  if (known == devices.end()) {
    if (devices.size() < kMostDevices) devices.push_back(std::move(record));
  } else {
    *known = std::move(record);
  }
}

void ChunkIndex::take(record::Consumers record, const record::Chunk& /*chunk*/) {
  consumers.push_back(std::move(record));
}

void ChunkIndex::take(record::Stacks record, const record::Chunk& /*chunk*/) {
  stacks = std::move(record);
}

void ChunkIndex::take(record::NearLimit record, const record::Chunk& /*chunk*/) {
  near_limits.push_back(std::move(record));
}

void ChunkIndex::take(record::Told /*record*/, const record::Chunk& /*chunk*/) { told = true; }

void ChunkIndex::take(record::Group record, const record::Chunk& /*chunk*/) {
  take_step(std::move(record), groups);
}

void ChunkIndex::take(record::CellBegin record, const record::Chunk& chunk) {
  const auto [place, is_new] = cell_places_.try_emplace(record.index, cells.size());
  if (is_new) {
    record.source = std::string();
    cells.push_back({std::move(record), std::nullopt, chunk.offset, 0});
    return;
  }
  // Sent again to the next sampler: the same cell.
  record::CellBegin& known = cells[place->second].begin;
  if (is_nearer(record.sample_ns, known.sample_ns, known.time_ns)) {
    known.sample_ns = record.sample_ns;
  }
}

void ChunkIndex::take(record::CellEnd record, const record::Chunk& chunk) {
  const auto place = cell_places_.find(record.index);
  if (place == cell_places_.end()) {
    append_damage(tail_damages_,
                  {chunk.offset, chunk.end - chunk.offset,
                   fmt::format("cell {} ends but its begin is missing", record.index)});
    return;
  }
  std::optional<record::CellEnd>& known = cells[place->second].end;
  if (!known) {
    known = record;
  } else if (is_nearer(record.sample_ns, known->sample_ns, known->time_ns)) {
    known->sample_ns = record.sample_ns;
  }
}

void ChunkIndex::finalize(std::size_t end_offset) {
  for (record::Damage& damage : tail_damages_) append_damage(final_damages_, std::move(damage));
  tail_damages_.clear();
  kept_.clear();
  kept_values_ = 0;
  final_ = {end_offset,     row_chunks_.size(), first_sample_ns,
            last_sample_ns, next_sequence_,     schema_};
}

ChunkIndex::Tail ChunkIndex::roll_back() {
  Tail tail;
  const auto provisional = row_chunks_.begin() + static_cast<std::ptrdiff_t>(final_.row_chunks);
  tail.row_chunks.assign(provisional, row_chunks_.end());
  row_chunks_.erase(provisional, row_chunks_.end());
  tail.kept = std::exchange(kept_, {});
  tail.kept_values = std::exchange(kept_values_, 0);
  tail.first_sample_ns = std::exchange(first_sample_ns, final_.first_sample_ns);
  tail.last_sample_ns = std::exchange(last_sample_ns, final_.last_sample_ns);
  tail.damages = std::exchange(tail_damages_, {});
  tail.schema = std::exchange(schema_, final_.schema);
  tail.next_sequence = std::exchange(next_sequence_, final_.next_sequence);
  return tail;
}

void ChunkIndex::put_back(Tail tail) {
  roll_back();
  row_chunks_.insert(row_chunks_.end(), tail.row_chunks.begin(), tail.row_chunks.end());
  kept_ = std::move(tail.kept);
  kept_values_ = tail.kept_values;
  first_sample_ns = tail.first_sample_ns;
  last_sample_ns = tail.last_sample_ns;
  tail_damages_ = std::move(tail.damages);
  schema_ = tail.schema;
  next_sequence_ = tail.next_sequence;
}

void ChunkIndex::settle(bool at_rest) {
  const auto by_index = [](const Cell& a, const Cell& b) { return a.begin.index < b.begin.index; };
  if (!std::is_sorted(cells.begin(), cells.end(), by_index)) {
    std::sort(cells.begin(), cells.end(), by_index);
    for (std::size_t place = 0; place < cells.size(); ++place) {
      cell_places_[cells[place].begin.index] = place;
    }
  }
  if (!groups.empty()) assign_groups(groups, cells);
  damages = final_damages_;
  if (!at_rest && !end) return;
  for (const record::Damage& damage : tail_damages_) append_damage(damages, damage);
}

RowsPointer ChunkIndex::kept_rows(std::size_t row_chunk) const noexcept {
  if (row_chunk < final_.row_chunks) return nullptr;
  return kept_[row_chunk - final_.row_chunks];
}

const Cell* ChunkIndex::cell(std::int64_t index) const noexcept {
  const auto place = cell_places_.find(index);
  return place == cell_places_.end() ? nullptr : &cells[place->second];
}

}  // namespace store
