#include "probe/process_io.hpp"

#include "probe/scan.hpp"

namespace probe {

std::optional<IoCounts> parse_pid_io(std::string_view text) noexcept {
  constexpr std::array<std::string_view, kIoFields> kNames{
      "rchar:", "wchar:", "syscr:", "syscw:", "read_bytes:", "write_bytes:"};
  IoCounts counts{};
  unsigned found = 0;
  for (Scanner lines(text); !lines.done();) {
    Scanner words(lines.line());
    const std::string_view name = words.word();
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      if (name != kNames[i]) continue;
      const auto value = words.number();
      if (!value) return std::nullopt;
      counts[i] = *value;
      found |= 1U << i;
    }
  }
  if (found != (1U << kIoFields) - 1) return std::nullopt;
  return counts;
}

}  // namespace probe
