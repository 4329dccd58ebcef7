#pragma once
// What a recording's chunks say, as far as it is kept in memory: cells, gaps, what is missing, and
// where the rows of which time lie. Fed chunk by chunk in file order.
//
// All up to the last chunk that isn't a plain row is final. The plain rows behind it are
// provisional: the writer writes over them, so they are fed again at the next refresh.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "record/log.hpp"
#include "record/records.hpp"
#include "record/rows.hpp"
#include "store/recording.hpp"

namespace store {

// One chunk of rows. Its rows that aren't newer than `after_ns` repeat earlier ones.
struct RowChunk {
  std::size_t offset = 0;
  std::int64_t after_ns = 0;
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
  std::uint32_t schema = 0;
};

using SchemaPointer = std::shared_ptr<const record::Schema>;
using RowsPointer = std::shared_ptr<const record::Rows>;

class ChunkIndex {
 public:
  void add(const record::Chunk& chunk);
  void add_damage(record::Damage damage, std::optional<record::ChunkKind> damaged_kind);

  // What isn't final.
  struct Tail {
    std::vector<RowChunk> row_chunks;
    std::vector<RowsPointer> kept;
    std::size_t kept_values = 0;
    std::int64_t first_sample_ns = 0;
    std::int64_t last_sample_ns = 0;
    std::vector<record::Damage> damages;
    std::optional<std::uint32_t> schema;
    std::optional<std::uint32_t> next_sequence;
  };
  // Forgets it; feeding goes on at final_end().
  Tail roll_back();
  // Undoes that, when nothing final has come since: reading failed.
  void put_back(Tail tail);
  // After a pass: cells in order, and damages() brought up to date. Damage at the very end shows
  // only when nobody writes any more: `at_rest`.
  void settle(bool at_rest);

  [[nodiscard]] std::size_t final_end() const noexcept { return final_.end; }
  // The number of the chunk that comes behind it; nullopt: unknown.
  [[nodiscard]] std::optional<std::uint32_t> final_sequence() const noexcept {
    return final_.next_sequence;
  }
  [[nodiscard]] bool has_provisional() const noexcept {
    return row_chunks_.size() > final_.row_chunks || !tail_damages_.empty();
  }
  [[nodiscard]] bool tail_is_damaged() const noexcept { return !tail_damages_.empty(); }
  [[nodiscard]] bool has_chunks() const noexcept { return has_chunks_; }

  [[nodiscard]] const std::vector<RowChunk>& row_chunks() const noexcept { return row_chunks_; }
  [[nodiscard]] const SchemaPointer& schema(std::uint32_t number) const { return schemas_[number]; }
  [[nodiscard]] const std::vector<SchemaPointer>& schemas() const noexcept { return schemas_; }
  // The rows of a provisional chunk, which may be gone from the file by now; else nullptr.
  [[nodiscard]] RowsPointer kept_rows(std::size_t row_chunk) const noexcept;

  [[nodiscard]] const Cell* cell(std::int64_t index) const noexcept;

  // What Recording hands out.
  std::optional<record::Machine> machine;
  std::vector<record::Machine> machines;
  std::vector<record::Settings> settings;
  std::vector<record::Missing> missing;
  std::vector<record::Gap> gaps;
  std::vector<record::Device> devices;
  std::vector<record::Consumers> consumers;
  std::optional<record::Stacks> stacks;  // the newest
  std::vector<record::NearLimit> near_limits;
  bool told = false;
  std::vector<Cell> cells;
  std::vector<Group> groups;
  std::optional<record::End> end;
  std::vector<record::Damage> damages;
  std::int64_t first_sample_ns = 0;
  std::int64_t last_sample_ns = 0;

 private:
  // Where the final part stops, and what held there.
  struct Checkpoint {
    std::size_t end = 0;
    std::size_t row_chunks = 0;
    std::int64_t first_sample_ns = 0;
    std::int64_t last_sample_ns = 0;
    std::optional<std::uint32_t> next_sequence;
    std::optional<std::uint32_t> schema;
  };

  void add_rows(const record::Chunk& chunk);
  void add_record(const record::Chunk& chunk);
  void check_sequence(const record::Chunk& chunk);
  void finalize(std::size_t end);
  void take(record::Machine record, const record::Chunk& chunk);
  void take(record::Schema record, const record::Chunk& chunk);
  void take(record::Settings record, const record::Chunk& chunk);
  void take(record::Missing record, const record::Chunk& chunk);
  void take(record::CellBegin record, const record::Chunk& chunk);
  void take(record::CellEnd record, const record::Chunk& chunk);
  void take(record::Gap record, const record::Chunk& chunk);
  void take(record::End record, const record::Chunk& chunk);
  void take(record::Device record, const record::Chunk& chunk);
  void take(record::Consumers record, const record::Chunk& chunk);
  void take(record::Stacks record, const record::Chunk& chunk);
  void take(record::NearLimit record, const record::Chunk& chunk);
  void take(record::Told record, const record::Chunk& chunk);
  void take(record::Group record, const record::Chunk& chunk);

  Checkpoint final_;
  std::vector<RowChunk> row_chunks_;
  std::vector<RowsPointer> kept_;  // of row_chunks_[final_.row_chunks + i]
  std::size_t kept_values_ = 0;
  std::vector<SchemaPointer> schemas_;
  std::size_t schema_columns_ = 0;
  std::optional<std::uint32_t> schema_;         // of the rows that follow
  std::optional<std::uint32_t> next_sequence_;  // unknown after damage: what was lost is said there
  std::unordered_map<std::int64_t, std::size_t> cell_places_;  // index -> place in `cells`
  std::vector<record::Damage> final_damages_;
  std::vector<record::Damage> tail_damages_;
  bool has_chunks_ = false;
  record::RowTimes times_;  // of the rows that are being added; its memory is kept
};

}  // namespace store
