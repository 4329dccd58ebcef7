// Any bytes, opened as a recording: every cell is summarised, everything is rendered. Then the same
// bytes with right checksums, so that the fuzzer gets behind them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/memory.hpp"
#include "record/bytes.hpp"
#include "record/crc32c.hpp"
#include "record/log.hpp"
#include "store/curve.hpp"
#include "store/recording.hpp"
#include "store/summary.hpp"
#include "store/table.hpp"
#include "view/history.hpp"
#include "view/live.hpp"
#include "view/stack_lines.hpp"
#include "view/summary.hpp"
#include "view/table_text.hpp"

namespace {

constexpr std::size_t kMostCells = 16;
constexpr std::size_t kCurveBuckets = 60;
constexpr std::size_t kColumns = 80;

// One cell: several that hold the same rows would only take longer.
void export_first(const store::Recording& recording) {
  if (recording.cells().empty()) return;
  try {
    const store::Table table = store::table_of(recording, {recording.cells().front()}, "all");
    const view::Sink nowhere = [](std::string_view) {};
    view::write_table_csv(table, nowhere);
    view::write_table_json(table, {}, nowhere);
  } catch (const base::Error&) {  // too many numbers
  }
}

void ask_everything(const store::Recording& recording) {
  std::vector<store::Cell> cells = recording.cells();
  cells.resize(std::min(cells.size(), kMostCells));
  std::vector<std::string> sources;
  for (const store::Cell& cell : cells) sources.push_back(recording.source(cell));
  const auto rows = view::history_rows(recording, recording.groups(), cells, sources);
  for (const view::HistoryRow& row : rows) {
    view::summary_json(row.summary);
    view::summary_text(row.summary, "");
    view::summary_html(row.summary, "process");
  }
  export_first(recording);
  view::summary_json(store::summarize_all(recording));
  view::history_text(rows);
  view::history_html(rows);
  view::live_lines(recording, recording.last_sample_ns(), kColumns);
  view::stack_lines(recording, kColumns);
  for (const auto& schema : recording.schemas()) {
    if (schema->columns.empty()) continue;
    const std::string& column = schema->columns.back().name;
    store::curve_of(recording, column, 0, INT64_MAX, kCurveBuckets);
    store::curve_of(recording, column, recording.first_sample_ns(), recording.last_sample_ns(),
                    kCurveBuckets);
    break;
  }
  recording.visit_rows(0, INT64_MAX,
                       [](const auto&, const record::Rows&, std::size_t) { return true; });
}

void run(std::string_view bytes) {
  const base::File file = base::make_memfd("fuzz");
  if (!file.valid() || !base::write_at(file.fd(), bytes, 0)) return;
  try {
    ask_everything(store::Recording::open("/proc/self/fd/" + std::to_string(file.fd())));
  } catch (const base::Error&) {  // foreign or empty: one clear sentence
  }
  // The kernel's way: it grows while it is looked at.
  const base::File growing = base::make_memfd("fuzz");
  store::Recording recording = store::Recording::follow(growing.fd());
  if (growing.valid() && base::write_at(growing.fd(), bytes.substr(0, bytes.size() / 2), 0)) {
    recording.refresh();
    base::write_at(growing.fd(), bytes, 0);
    recording.refresh();
    ask_everything(recording);
  }
}

// Every header whose payload is there gets its checksum.
std::string repaired(std::string bytes) {
  constexpr std::size_t kLengthOffset = 12;
  constexpr std::size_t kChecksumOffset = 20;
  for (std::size_t at = bytes.find(record::kMagic); at != bytes.npos;) {
    const std::string_view rest = std::string_view(bytes).substr(at);
    std::size_t step = record::kMagic.size();
    if (rest.size() >= record::kHeaderBytes) {
      const std::size_t length = record::ByteReader(rest.substr(kLengthOffset)).u32();
      if (length <= rest.size() - record::kHeaderBytes) {
        const std::uint32_t checksum =
            record::crc32c(record::crc32c(0, rest.substr(0, kChecksumOffset)),
                           rest.substr(record::kHeaderBytes, length));
        std::string raw;
        record::ByteWriter(raw).u32(checksum);
        bytes.replace(at + kChecksumOffset, raw.size(), raw);
        step = record::kHeaderBytes + length;
      }
    }
    at = bytes.find(record::kMagic, at + step);
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  run(bytes);
  const std::string right = repaired(bytes);
  if (right != bytes) run(right);
  return 0;
}
