#include "store/ending.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/file.hpp"
#include "record/text.hpp"

namespace store {
namespace {

constexpr std::int64_t kLastNs = 3'000'000'000;  // counts that are read once a second show in it
constexpr std::int64_t kNearPercent = 90;

Ending::Kind kind_of(record::EndCause cause) noexcept {
  switch (cause) {
    case record::EndCause::kClosed:
      return Ending::Kind::kClosed;
    case record::EndCause::kExited:
      return Ending::Kind::kExited;
    case record::EndCause::kKilled:
      return Ending::Kind::kKilled;
    case record::EndCause::kOutOfMemory:
      return Ending::Kind::kOutOfMemory;
    case record::EndCause::kUnknown:
      break;
  }
  return Ending::Kind::kUnknown;
}

// What a level had in use when it was last seen, of what it may use.
struct LastSeen {
  std::int64_t bytes = 0;
  std::int64_t capacity_bytes = 0;

  [[nodiscard]] bool known() const noexcept { return capacity_bytes > 0; }
  [[nodiscard]] bool is_near() const noexcept {
    return known() && bytes >= capacity_bytes / 100 * kNearPercent;
  }
};

constexpr std::array<std::string_view, 8> kNames{
    "job.oom_kills",        "job.memory_anonymous_bytes",
    "job.memory_bytes",     "job.capacity_memory_bytes",
    "process.memory_bytes", "process.capacity_memory_bytes",
    "process.processes",    "process.memory_is_upper_bound"};

// The columns of these names in the last rows, a chunk in memory at a time.
class LastRows {
 public:
  explicit LastRows(const Recording& recording) {
    const std::int64_t last_ns = recording.last_sample_ns();
    if (last_ns <= 0) return;
    recording.visit_rows(std::max<std::int64_t>(last_ns - kLastNs, 0), last_ns,
                         [&](const auto& schema, const record::Rows& rows, std::size_t row) {
                           take(schema.get(), rows, row);
                           return true;
                         });
  }

  // In the last row; unknown where it isn't.
  [[nodiscard]] record::Value last(std::string_view name) const {
    const auto place = std::ranges::find(kNames, name) - kNames.begin();
    return values_[static_cast<std::size_t>(place)];
  }
  [[nodiscard]] bool kills_rise() const noexcept { return kills_rise_; }

 private:
  static constexpr auto kNone = record::unknown(record::State::kNotYet);

  void take(const record::Schema* schema, const record::Rows& rows, std::size_t row) {
    if (schema != schema_) {
      schema_ = schema;
      for (std::size_t i = 0; i < kNames.size(); ++i) {
        const auto found = std::ranges::find(schema->columns, kNames[i], &record::Column::name);
        columns_[i] = static_cast<std::size_t>(found - schema->columns.begin());
      }
    }
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      values_[i] = columns_[i] < rows.columns ? rows.at(columns_[i], row) : kNone;
    }
    const record::Value kills = values_[0];
    if (!record::is_known(kills)) return;
    kills_rise_ = kills_rise_ || (record::is_known(least_kills_) && kills > least_kills_);
    least_kills_ = record::is_known(least_kills_) ? std::min(least_kills_, kills) : kills;
  }

  const record::Schema* schema_ = nullptr;
  std::array<std::size_t, kNames.size()> columns_{};
  std::array<record::Value, kNames.size()> values_ = [] {
    std::array<record::Value, kNames.size()> values{};
    values.fill(kNone);
    return values;
  }();
  record::Value least_kills_ = kNone;
  bool kills_rise_ = false;
};

// Of the group what the system can't take back without swap; of the tree its memory, unless pages
// that processes share may be in it more than once. Of both the one that is nearer to its capacity.
LastSeen memory_of(const LastRows& rows) {
  LastSeen job{rows.last("job.memory_anonymous_bytes"), rows.last("job.capacity_memory_bytes")};
  if (!record::is_known(job.bytes)) job.bytes = rows.last("job.memory_bytes");
  LastSeen tree{rows.last("process.memory_bytes"), rows.last("process.capacity_memory_bytes")};
  const bool twice =
      rows.last("process.memory_is_upper_bound") == 1 && rows.last("process.processes") > 1;
  if (twice || !record::is_known(tree.bytes)) tree = {};
  if (!record::is_known(job.bytes) || !job.known()) return tree;
  return tree.bytes > job.bytes && tree.known() ? tree : job;
}

std::string mib_of(const LastSeen& seen) {
  constexpr double kMib = 1 << 20;
  return fmt::format("last seen {:.0f} MiB of {:.0f} MiB", static_cast<double>(seen.bytes) / kMib,
                     static_cast<double>(seen.capacity_bytes) / kMib);
}

std::string line_of(const char* path) {
  std::string text = base::read_small_file(path).value_or("");
  text.resize(std::min(text.find('\n'), text.size()));
  return text;
}

// By its name: a file may have come from another machine, and a container that was restarted has
// another name or the same boot.
bool was_restarted(const record::Machine& recorded, const ThisMachine& here) {
  return !here.boot_id.empty() && here.host == recorded.host && here.boot_id != recorded.boot_id;
}

void conclude(const Recording& recording, const ThisMachine& here, Ending& ending) {
  ending.probably = true;
  const record::Machine machine = recording.machine().value_or(record::Machine());
  const LastRows rows(recording);
  const LastSeen memory = memory_of(rows);
  const bool limited = memory.capacity_bytes < machine.memory_bytes;
  if (rows.kills_rise() || (memory.is_near() && limited)) {
    ending.kind = Ending::Kind::kOutOfMemory;
    ending.text = "probably killed by the memory limit";
    if (memory.known()) ending.text += " (" + mib_of(memory) + ")";
  } else if (was_restarted(machine, here)) {
    ending.kind = Ending::Kind::kRebooted;
    ending.text = "probably: the machine was restarted";
  } else if (memory.is_near()) {
    ending.kind = Ending::Kind::kOutOfMemory;
    ending.text = "probably killed because the machine was out of memory (" + mib_of(memory) + ")";
  } else {
    ending.kind = Ending::Kind::kKilled;
    ending.text = "probably killed together with its sampler";
  }
}

}  // namespace

ThisMachine this_machine() {
  return {line_of("/proc/sys/kernel/hostname"), line_of("/proc/sys/kernel/random/boot_id")};
}

Ending ending_of(const Recording& recording, const ThisMachine& here) {
  Ending ending;
  if (!recording.cells().empty() && !recording.cells().back().end) {
    ending.cell = &recording.cells().back();
  }
  if (recording.end()) {
    ending.kind = kind_of(recording.end()->cause);
    ending.text = record::end_text(*recording.end());
    ending.time_ns = recording.end()->time_ns;
    return ending;
  }
  ending.time_ns = recording.last_sample_ns();
  if (recording.is_live()) {
    ending.kind = Ending::Kind::kRunning;
  } else {
    conclude(recording, here, ending);
  }
  return ending;
}

}  // namespace store
