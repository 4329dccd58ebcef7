// The rows of a Recording, read from the file when they are asked for.

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "store/chunk_walk.hpp"
#include "store/recording.hpp"
#include "store/recording_state.hpp"

namespace store {
namespace {

constexpr std::int64_t kForEver = std::numeric_limits<std::int64_t>::max();

// One run of rows with the same schema, as it was read.
struct Piece {
  SchemaPointer schema;
  RowsPointer rows;
  std::vector<std::size_t> chosen;
};

record::Rows joined(const std::vector<Piece>& pieces, std::size_t begin, std::size_t end) {
  record::Rows out;
  out.columns = pieces[begin].rows->columns;
  for (std::size_t i = begin; i < end; ++i) out.count += pieces[i].chosen.size();
  out.values.resize(out.count * out.columns);
  std::size_t place = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const record::Rows& rows = *pieces[i].rows;
    for (const std::size_t row : pieces[i].chosen) {
      out.time_ns.push_back(rows.time_ns[row]);
      out.duration_ns.push_back(rows.duration_ns[row]);
      out.cpu_ns.push_back(rows.cpu_ns[row]);
      out.flags.push_back(rows.flags[row]);
      for (std::size_t column = 0; column < out.columns; ++column) {
        out.values[column * out.count + place] = rows.at(column, row);
      }
      ++place;
    }
  }
  return out;
}

RowsPointer read_rows(ChunkWalk& walk, std::size_t offset, const std::vector<char>& seldom) {
  walk.seek(offset);
  const ChunkWalk::Step step = walk.next();
  if (step.what != ChunkWalk::Step::What::kChunk) return nullptr;
  auto rows = step.chunk.kind == record::ChunkKind::kPlainRow
                  ? record::decode_plain_row(step.chunk.payload)
              : step.chunk.kind == record::ChunkKind::kSealedRows
                  ? record::decode_sealed_rows(step.chunk.payload, seldom)
                  : std::nullopt;
  return rows ? std::make_shared<const record::Rows>(*std::move(rows)) : nullptr;
}

// Hands out the chunks that hold rows of the window, each with the numbers of these rows; stops
// when `take` returns false. What the file no longer has as it was indexed is left out.
template <typename Take>
void each_piece(const ChunkIndex& index, const LogBytes& bytes, std::size_t size,
                std::int64_t begin_ns, std::int64_t end_ns, Take take,
                const Recording::Choice& choice = {}) {
  SchemaPointer chosen_of;  // the schema that `seldom` is about
  std::vector<char> seldom;
  const std::vector<RowChunk>& chunks = index.row_chunks();
  const auto first =
      std::partition_point(chunks.begin(), chunks.end(),
                           [begin_ns](const RowChunk& chunk) { return chunk.last_ns < begin_ns; });
  ChunkWalk walk(bytes, 0, size);
  for (auto chunk = first; chunk != chunks.end() && chunk->first_ns <= end_ns; ++chunk) {
    RowsPointer rows = index.kept_rows(static_cast<std::size_t>(chunk - chunks.begin()));
    const SchemaPointer& schema = index.schema(chunk->schema);
    if (choice && schema != chosen_of) {
      chosen_of = schema;
      seldom.clear();
      for (const record::Column& column : schema->columns) {
        seldom.push_back(choice(column) ? 1 : 0);
      }
    }
    if (!rows) rows = read_rows(walk, chunk->offset, seldom);
    if (!rows || rows->columns != schema->columns.size()) continue;
    std::vector<std::size_t> chosen;
    std::int64_t after_ns = chunk->after_ns;
    for (std::size_t row = 0; row < rows->count; ++row) {
      const std::int64_t time_ns = rows->time_ns[row];
      if (time_ns <= after_ns) continue;
      after_ns = time_ns;
      if (time_ns >= begin_ns && time_ns <= end_ns) chosen.push_back(row);
    }
    if (!chosen.empty() && !take(schema, std::move(rows), std::move(chosen))) return;
  }
}

}  // namespace

std::optional<std::size_t> Window::column(std::string_view name) const noexcept {
  if (!schema) return std::nullopt;
  const std::size_t count = std::min(schema->columns.size(), rows.columns);
  for (std::size_t column = 0; column < count; ++column) {
    if (schema->columns[column].name == name) return column;
  }
  return std::nullopt;
}

void Recording::visit_rows(std::int64_t begin_ns, std::int64_t end_ns,
                           const VisitRow& visit) const {
  visit_rows(begin_ns, end_ns, visit, {});
}

void Recording::visit_rows(std::int64_t begin_ns, std::int64_t end_ns, const VisitRow& visit,
                           const Choice& seldom) const {
  each_piece(
      state_->index, state_->bytes, state_->size, begin_ns, end_ns,
      [&](const SchemaPointer& schema, const RowsPointer& rows,
          const std::vector<std::size_t>& chosen) {
        return std::all_of(chosen.begin(), chosen.end(),
                           [&](std::size_t row) { return visit(schema, *rows, row); });
      },
      seldom);
}

std::vector<Window> Recording::rows_between(std::int64_t begin_ns, std::int64_t end_ns) const {
  std::vector<Piece> pieces;
  std::size_t values = 0;
  each_piece(state_->index, state_->bytes, state_->size, begin_ns, end_ns,
             [&](const SchemaPointer& schema, RowsPointer rows, std::vector<std::size_t> chosen) {
               values += rows->values.size();
               if (values > kMostWindowValues) {
                 throw base::Error("cannot read so many rows of", "the recording",
                                   fmt::format("they hold over {} values", kMostWindowValues),
                                   "ask for a shorter time");
               }
               pieces.push_back({schema, std::move(rows), std::move(chosen)});
               return true;
             });
  std::vector<Window> windows;
  for (std::size_t begin = 0; begin < pieces.size();) {
    std::size_t end = begin + 1;
    while (end < pieces.size() && pieces[end].schema == pieces[begin].schema) ++end;
    windows.push_back({pieces[begin].schema, joined(pieces, begin, end)});
    begin = end;
  }
  return windows;
}

std::int64_t Recording::sample_at_or_before(std::int64_t time_ns) const {
  const std::vector<RowChunk>& chunks = state_->index.row_chunks();
  const auto behind =
      std::partition_point(chunks.begin(), chunks.end(),
                           [time_ns](const RowChunk& chunk) { return chunk.first_ns <= time_ns; });
  if (behind == chunks.begin()) return 0;
  const RowChunk& chunk = *std::prev(behind);
  std::int64_t found_ns = 0;
  visit_rows(chunk.first_ns, time_ns,
             [&](const SchemaPointer&, const record::Rows& rows, std::size_t row) {
               found_ns = rows.time_ns[row];
               return true;
             });
  return found_ns;
}

std::int64_t Recording::sample_at_or_after(std::int64_t time_ns) const {
  std::int64_t found_ns = 0;
  visit_rows(time_ns, kForEver,
             [&](const SchemaPointer&, const record::Rows& rows, std::size_t row) {
               found_ns = rows.time_ns[row];
               return false;
             });
  return found_ns;
}

}  // namespace store
