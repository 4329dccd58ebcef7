#include "tools/doctor_mount.hpp"

namespace tools {
namespace {

// Cuts the first word off `rest`, up to `separator`.
std::string_view take_word(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
  return word;
}

}  // namespace

ProcMount parse_proc_mount(std::string_view mountinfo) {
  constexpr int kMountPoint = 4;  // the fifth field
  constexpr std::string_view kHides = "hidepid=";
  constexpr std::string_view kGroup = "gid=";
  ProcMount last;
  while (!mountinfo.empty()) {
    std::string_view line = take_word(mountinfo, '\n');
    for (int field = 0; field < kMountPoint; ++field) take_word(line, ' ');
    if (take_word(line, ' ') != "/proc") continue;
    while (!line.empty() && take_word(line, ' ') != "-") continue;
    if (take_word(line, ' ') != "proc") continue;
    take_word(line, ' ');
    ProcMount mount;
    mount.found = true;
    while (!line.empty()) {
      const std::string_view option = take_word(line, ',');
      if (option.starts_with(kHides)) mount.hides = option.substr(kHides.size());
      if (option.starts_with(kGroup)) mount.group = option.substr(kGroup.size());
      if (option == "subset=pid") mount.only_processes = true;
    }
    last = std::move(mount);
  }
  return last;
}

}  // namespace tools
