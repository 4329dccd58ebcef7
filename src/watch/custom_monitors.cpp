#include "watch/custom_monitors.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/error.hpp"
#include "base/memory.hpp"
#include "base/process.hpp"

namespace watch {

void CustomMonitors::add(MonitorSpec spec) {
  const auto found =
      std::ranges::find_if(list_, [&](const One& one) { return one.spec.name == spec.name; });
  if (found != list_.end()) {
    if (found->info.state != MonitorInfo::State::kCutOff) {
      throw base::Error("cannot add a monitor", spec.name, "there is one of that name",
                        "remove it first, or give this one another --name");
    }
    list_.erase(found);
  }
  One one;
  one.info = {spec.name, spec.about, spec.rate_hz, MonitorInfo::State::kBegins, {}};
  one.spec = std::move(spec);
  list_.push_back(std::move(one));
}

bool CustomMonitors::remove(const std::string& name) {
  const auto found =
      std::ranges::find_if(list_, [&](const One& one) { return one.spec.name == name; });
  if (found == list_.end()) return false;
  removed_.push_back(name);
  list_.erase(found);
  return true;
}

void CustomMonitors::begin_anew() {
  removed_.clear();
  for (One& one : list_) {
    if (one.info.state == MonitorInfo::State::kCutOff) continue;
    one.info.state = MonitorInfo::State::kBegins;
    one.pipe.close();
    one.unsent = true;
  }
}

bool CustomMonitors::has_unsent() const noexcept {
  return !removed_.empty() || std::ranges::any_of(list_, [](const One& one) { return one.unsent; });
}

bool CustomMonitors::send(const std::string& program, int root_pidfd, const Send& send) {
  while (!removed_.empty()) {
    record::Monitor monitor;
    monitor.name = removed_.back();
    if (send(monitor, -1) == base::SendResult::kFull) return false;
    removed_.pop_back();
  }
  for (One& one : list_) {
    if (!one.unsent) continue;
    if (!one.pipe.valid() && !start(one, program, root_pidfd)) continue;
    const record::Monitor monitor{one.spec.name, one.spec.about, one.spec.rate_hz};
    if (send(monitor, one.pipe.fd()) == base::SendResult::kFull) return false;
    one.pipe.close();
    one.unsent = false;
  }
  return true;
}

// False: it is cut off.
bool CustomMonitors::start(One& one, const std::string& program, int root_pidfd) {
  const auto fail = [&](std::string reason) {
    one.info.state = MonitorInfo::State::kCutOff;
    one.info.reason = std::move(reason);
    one.unsent = false;
    return false;
  };
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return fail("there is no pipe for it: " + base::errno_text(errno));
  }
  base::File read_end(ends[0]);
  const base::File write_end(ends[1]);
  std::vector<std::string> arguments{program, "monitor", "run", "--out", "3"};
  std::vector<int> descriptors{write_end.fd()};
  const auto pass = [&](const char* option, int fd) {
    if (fd < 0) return;
    arguments.emplace_back(option);
    arguments.push_back(std::to_string(3 + descriptors.size()));
    descriptors.push_back(fd);
  };
  base::File payload;
  if (!one.spec.payload.empty()) {
    payload = base::make_sealed_memfd("jumper-monitor", one.spec.payload);
    if (!payload.valid()) return fail("there is no memory for it: " + base::errno_text(errno));
  }
  pass("--root-pidfd", root_pidfd);
  pass("--input", payload.fd());
  for (const auto& [option, value] : {std::pair("--root-pid", std::to_string(::getpid())),
                                      std::pair("--rate", fmt::format("{}", one.spec.rate_hz)),
                                      std::pair("--directory", one.spec.directory)}) {
    arguments.emplace_back(option);
    arguments.push_back(value);
  }
  arguments.emplace_back("--");
  arguments.insert(arguments.end(), one.spec.command.begin(), one.spec.command.end());
  try {
    base::start_hidden(program, arguments, descriptors);
  } catch (const base::Error& error) {
    return fail(error.what());
  }
  one.pipe = std::move(read_end);
  return true;
}

std::optional<std::string> CustomMonitors::take(const record::MonitorState& state) {
  for (One& one : list_) {
    // What it says of an earlier one of that name is no news of this one.
    if (one.spec.name != state.name || one.unsent) continue;
    if (one.info.state == MonitorInfo::State::kCutOff) return std::nullopt;
    if (state.reason.empty()) {
      one.info.state = MonitorInfo::State::kMeasures;
      return std::nullopt;
    }
    one.info.state = MonitorInfo::State::kCutOff;
    one.info.reason = state.reason;
    return fmt::format("the monitor '{}' measures no more: {}", one.spec.name, state.reason);
  }
  return std::nullopt;
}

std::vector<MonitorInfo> CustomMonitors::list() const {
  std::vector<MonitorInfo> list;
  list.reserve(list_.size());
  for (const One& one : list_) list.push_back(one.info);
  return list;
}

}  // namespace watch
