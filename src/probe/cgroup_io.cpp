#include "probe/cgroup_io.hpp"

#include <algorithm>

namespace probe {
namespace {

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

}  // namespace

bool is_device(std::string_view word) noexcept {
  const auto colon = word.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == word.size()) return false;
  return std::ranges::all_of(word.substr(0, colon), is_digit) &&
         std::ranges::all_of(word.substr(colon + 1), is_digit);
}

DeviceIo parse_io_stat_line(std::string_view line) noexcept {
  DeviceIo io;
  Scanner words(line);
  const std::string_view device = words.word();
  if (!is_device(device)) return io;
  io.device = device;
  for (std::string_view word = words.word(); !word.empty(); word = words.word()) {
    const auto put = [&](std::string_view label, std::int64_t& value) {
      if (!word.starts_with(label)) return;
      value = Scanner(word.substr(label.size())).number().value_or(value);
    };
    put("rbytes=", io.bytes[0]);
    put("wbytes=", io.bytes[1]);
    put("rios=", io.requests[0]);
    put("wios=", io.requests[1]);
  }
  return io;
}

}  // namespace probe
