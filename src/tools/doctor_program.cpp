// The program itself, and the clocks.

#include <fmt/format.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <ctime>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "tools/doctor.hpp"
#include "tools/version.hpp"

namespace tools {
namespace {

constexpr std::size_t kMostMapsBytes = 1 << 20;
constexpr int kClockCalls = 2000;
constexpr double kSlowCallNs = 250;
constexpr long kCoarseNs = 1000;

std::string real_path(const std::string& path) {
  char* real = ::realpath(path.c_str(), nullptr);
  if (real == nullptr) return {};
  std::string result(real);
  ::free(real);  // NOLINT(cppcoreguidelines-no-malloc): realpath(3) says so
  return result;
}

// The path of a mapped library: "7f… r-xp 00000000 08:01 131 /usr/lib/libstdc++.so.6"
// (proc_pid_maps(5)).
std::string mapped_library(std::string_view maps, std::string_view name) {
  const std::size_t found = maps.find(name);
  if (found == maps.npos) return {};
  const std::size_t begin = maps.rfind(' ', found) + 1;
  return std::string(maps.substr(begin, maps.find('\n', found) - begin));
}

std::string line_of(const std::string& path) {
  auto text = base::read_small_file(path, 4096);
  if (!text) return {};
  return text->substr(0, text->find('\n'));
}

}  // namespace

std::string find_on_path(const std::string& name, bool also_relative) {
  constexpr const char* kPath = "PATH";
  const char* variable = std::getenv(kPath);
  std::string_view left = variable != nullptr ? variable : "";
  while (!left.empty()) {
    const std::size_t colon = left.find(':');
    std::string path(left.substr(0, colon));
    left.remove_prefix(colon == left.npos ? left.size() : colon + 1);
    if (!path.starts_with('/') && !also_relative) continue;
    if (path.empty()) path = ".";
    path += "/" + name;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

void check_program(const Subject& subject, Sheet& sheet) {
  sheet.ok("version", fmt::format("{} in {}", kVersionText, subject.program));
  const auto maps = base::read_small_file("/proc/self/maps", kMostMapsBytes);
  const std::string library = mapped_library(maps.value_or(""), "/libstdc++.so");
  sheet.ok("C++ library",
           library.empty() ? "part of the program: no other version can come between" : library);
  const std::string other = find_on_path("jumper", true);
  if (other.empty()) {
    sheet.ok("jumper on PATH", "there is none; notebooks find this one by themselves");
  } else if (real_path(other) == subject.program) {
    sheet.ok("jumper on PATH", "is this one");
  } else {
    sheet.limited("jumper on PATH", "a shell starts another one: " + other,
                  "activate the environment of this one, or put its folder first in PATH");
  }
}

void check_clocks(const Subject& subject, Sheet& sheet) {
  const std::string source =
      line_of(subject.root + "/sys/devices/system/clocksource/clocksource0/current_clocksource");
  const std::int64_t begin_ns = base::monotonic_ns();
  for (int i = 0; i < kClockCalls; ++i) static_cast<void>(base::monotonic_ns());
  const double call_ns = static_cast<double>(base::monotonic_ns() - begin_ns) / kClockCalls;
  const std::string reason = fmt::format("{}; reading the time takes {:.0f} ns",
                                         source.empty() ? "unknown" : source, call_ns);
  if (call_ns < kSlowCallNs) {
    sheet.ok("clock source", reason);
  } else {
    sheet.limited("clock source", reason + ": traces of short functions will be inexact",
                  source == "tsc" ? "" : "ask the administrator for the clock source tsc");
  }
  timespec resolution{};
  if (::clock_getres(CLOCK_MONOTONIC, &resolution) != 0) {
    return sheet.missing("CLOCK_MONOTONIC", "there is none");
  }
  const std::string step = fmt::format("resolution {} ns", base::to_ns(resolution));
  if (base::to_ns(resolution) <= kCoarseNs) {
    sheet.ok("CLOCK_MONOTONIC", step);
  } else {
    sheet.limited("CLOCK_MONOTONIC", step, "a kernel with high resolution timers");
  }
}

}  // namespace tools
