// A line of `jumper doctor --json`, as the notebooks' Python writes it.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tools/doctor.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  const auto finding = tools::read_finding(line);
  if (!finding) return 0;
  const std::string again = tools::finding_json(*finding);
  if (again.find('\n') != again.npos || !tools::read_finding(again)) __builtin_trap();
  const std::string text = tools::finding_text(*finding, false);
  if (text.find('\x1b') != text.npos) __builtin_trap();
  return 0;
}
