#include "probe/cpu.hpp"

#include <algorithm>

#include "probe/scan.hpp"

namespace probe {
namespace {

std::optional<std::int64_t> busy_ticks(Scanner columns) noexcept {
  const auto user = columns.number();
  const auto nice = columns.number();
  const auto system = columns.number();
  if (!user || !nice || !system) return std::nullopt;
  columns.skip_words(2);  // idle, iowait
  std::int64_t busy = *user + *nice + *system;
  for (int i = 0; i < 3; ++i) busy += columns.number().value_or(0);  // irq, softirq, steal
  return busy;
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
      const auto busy = busy_ticks(words);
      if (!busy) return std::nullopt;
      stat.busy_ticks = *busy;
      found = true;
    } else if (line.starts_with("cpu")) {
      const auto core = Scanner(words.word().substr(3)).number();
      const auto busy = busy_ticks(words);
      if (!core || !busy) continue;
      const auto place = static_cast<std::size_t>(*core);
      if (place < core_ticks.size()) core_ticks[place] = *busy;
    } else if (line.starts_with("processes ")) {
      words.word();
      stat.forks = words.number();
      break;  // nothing of ours comes after it
    }
  }
  if (!found) return std::nullopt;
  return stat;
}

}  // namespace probe
