#include "probe/cgroup_mounts.hpp"

#include "probe/scan.hpp"

namespace probe {
namespace {

constexpr bool is_octal(char c) noexcept { return c >= '0' && c <= '7'; }

std::string without_escapes(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && text[i + 1] <= '3' && is_octal(text[i + 1]) &&
        is_octal(text[i + 2]) && is_octal(text[i + 3])) {
      const int code = (text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0');
      plain.push_back(static_cast<char>(code));
      i += 3;
    } else {
      plain.push_back(text[i]);
    }
  }
  return plain;
}

}  // namespace

std::vector<CgroupMount> parse_mountinfo(std::string_view text) {
  std::vector<CgroupMount> mounts;
  for (Scanner lines(text); !lines.done() && mounts.size() < kMostCgroupMounts;) {
    Scanner words(lines.line());
    words.skip_words(3);
    const std::string_view outer = words.word();
    const std::string_view point = words.word();
    words.word();
    std::string_view word = words.word();
    while (!word.empty() && word != "-") word = words.word();
    const std::string_view type = words.word();
    if (type != "cgroup" && type != "cgroup2") continue;
    words.word();
    const std::string_view options = words.word();
    if (!outer.starts_with('/') || !point.starts_with('/')) continue;
    mounts.push_back(
        {without_escapes(outer), without_escapes(point), std::string(options), type == "cgroup2"});
  }
  return mounts;
}

}  // namespace probe
