#include "probe/cpu.hpp"

#include <algorithm>

#include "probe/scan.hpp"

namespace probe {
namespace {

struct Ticks {
  std::int64_t busy = 0;
  record::Value steal = record::unknown(record::State::kNotSupported);
};

std::optional<Ticks> parse_ticks(Scanner columns) noexcept {
  const auto user = columns.number();
  const auto nice = columns.number();
  const auto system = columns.number();
  if (!user || !nice || !system) return std::nullopt;
  columns.skip_words(2);  // idle, iowait
  Ticks ticks;
  ticks.busy = *user + *nice + *system;
  for (int i = 0; i < 2; ++i) ticks.busy += columns.number().value_or(0);  // irq, softirq
  if (const auto steal = columns.number()) {
    ticks.steal = *steal;
    ticks.busy += *steal;
  }
  return ticks;
}

record::Value second_word(std::string_view line) noexcept {
  Scanner words(line);
  words.word();
  return words.number().value_or(record::unknown(record::State::kNotSupported));
}

}  // namespace

std::optional<Stat> parse_stat(std::string_view text,
                               std::span<record::Value> core_ticks) noexcept {
  std::ranges::fill(core_ticks, record::unknown(record::State::kVanished));
  Stat stat;
  bool found = false;
  for (Scanner lines(text); !lines.done();) {
    const std::string_view line = lines.line();
    Scanner words(line);
    if (line.starts_with("cpu ")) {
      words.word();
      const auto ticks = parse_ticks(words);
      if (!ticks) return std::nullopt;
      stat.busy_ticks = ticks->busy;
      stat.steal_ticks = ticks->steal;
      found = true;
    } else if (line.starts_with("cpu")) {
      const auto core = Scanner(words.word().substr(3)).number();
      const auto ticks = parse_ticks(words);
      if (!core || !ticks) continue;
      const auto place = static_cast<std::size_t>(*core);
      if (place < core_ticks.size()) core_ticks[place] = ticks->busy;
    } else if (line.starts_with("processes ")) {
      words.word();
      stat.forks = words.number();
    } else if (line.starts_with("ctxt ")) {
      stat.context_switches = second_word(line);
    } else if (line.starts_with("procs_running ")) {
      stat.threads_running = second_word(line);
      break;  // nothing of ours comes after it
    }
  }
  if (!found) return std::nullopt;
  return stat;
}

}  // namespace probe
