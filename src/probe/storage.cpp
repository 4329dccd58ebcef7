#include "probe/storage.hpp"

#include "probe/scan.hpp"

namespace probe {

Storage parse_vmstat(std::string_view text) noexcept {
  constexpr std::int64_t kKibibyte = 1024;
  Storage storage;
  for (Scanner lines(text); !lines.done();) {
    const std::string_view line = lines.line();
    if (!line.starts_with("pgpg")) continue;
    Scanner words(line);
    const std::string_view name = words.word();
    if (name == "pgpgin") storage.read_bytes = words.number_times(kKibibyte);
    if (name != "pgpgout") continue;
    storage.write_bytes = words.number_times(kKibibyte);
    break;  // it follows pgpgin
  }
  return storage;
}

}  // namespace probe
