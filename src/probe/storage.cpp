#include "probe/storage.hpp"

#include "probe/scan.hpp"

namespace probe {

Vmstat parse_vmstat(std::string_view text) noexcept {
  constexpr std::int64_t kKibibyte = 1024;
  Vmstat vmstat;
  for (Scanner lines(text); !lines.done();) {
    const std::string_view line = lines.line();
    if (!line.starts_with('p')) continue;
    Scanner words(line);
    const std::string_view name = words.word();
    const auto take = [&](record::Value& value, std::int64_t factor) {
      if (const auto number = words.number_times(factor)) value = *number;
    };
    if (name == "pgpgin") {
      take(vmstat.read_bytes, kKibibyte);
    } else if (name == "pgpgout") {
      take(vmstat.write_bytes, kKibibyte);
    } else if (name == "pswpin") {
      take(vmstat.swap_in_pages, 1);
    } else if (name == "pswpout") {
      take(vmstat.swap_out_pages, 1);
    } else if (name == "pgfault") {
      take(vmstat.page_faults, 1);
    } else if (name == "pgmajfault") {
      take(vmstat.major_page_faults, 1);
      break;  // the last one of ours
    }
  }
  return vmstat;
}

}  // namespace probe
