#include "tools/monitors.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/process.hpp"

namespace tools {
namespace {

constexpr std::size_t kReadBytes = 64U << 10;
constexpr std::int64_t kMostWaitNs = 1'000'000'000;

}  // namespace

Monitors::Monitors(std::set<std::string, std::less<>> levels)
    : levels_(std::move(levels)), named_(std::make_shared<const Known>()) {
  columns_.reserve(kMostColumns);
}

Monitors::~Monitors() {
  if (!thread_.joinable()) return;
  stop_ = true;
  wake();
  thread_.join();
}

// ---- the tick's thread ----

void Monitors::add(const record::Monitor& monitor, base::File pipe) {
  const int flags = ::fcntl(pipe.fd(), F_GETFL);
  if (flags < 0 || ::fcntl(pipe.fd(), F_SETFL, flags | O_NONBLOCK) != 0) return;
  wish({monitor, std::move(pipe)});
  if (thread_.joinable()) return wake();
  try {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
      throw std::system_error(errno, std::generic_category());
    }
    wake_read_ = base::File(ends[0]);
    wake_write_ = base::File(ends[1]);
    const base::SignalsBlocked blocked;
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    const std::lock_guard lock(inbox_);
    wishes_.clear();
    news_.push_back(
        {monitor.name, {"node"}, "nobody can read it: " + base::errno_text(error.code().value())});
    has_news_ = true;
  }
}

void Monitors::remove(const std::string& name) {
  record::Monitor monitor;
  monitor.name = name;
  wish({std::move(monitor), base::File()});
  if (thread_.joinable()) wake();
}

void Monitors::wish(Wish wish) {
  const std::lock_guard lock(inbox_);
  wishes_.push_back(std::move(wish));
}

void Monitors::wake() const noexcept {
  [[maybe_unused]] const ssize_t written = ::write(wake_write_.fd(), "", 1);  // full: it will wake
}

bool Monitors::columns_changed() noexcept {
  const std::shared_ptr<const Known>& known = latest_.newest().known;
  if (!known || known == known_) return false;
  known_ = known;
  try {
    columns_ = known_->columns;
  } catch (const std::exception&) {
    return false;  // no memory: none of them is seen
  }
  return true;
}

std::vector<record::Device> Monitors::take_devices() {
  if (!known_ || devices_taken_ == known_->devices.size()) return {};
  std::vector<record::Device> fresh(
      known_->devices.begin() + static_cast<std::ptrdiff_t>(devices_taken_), known_->devices.end());
  devices_taken_ = known_->devices.size();
  return fresh;
}

void Monitors::read(std::span<record::Value> values, const probe::Turn& /*turn*/) noexcept {
  const Round& round = latest_.newest();
  const std::size_t known = round.known ? round.known->columns.size() : 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = i < known ? round.values[i] : record::unknown(record::State::kNotYet);
  }
}

std::vector<MonitorNews> Monitors::take_news() {
  if (!has_news_.load(std::memory_order_acquire)) return {};
  const std::unique_lock lock(inbox_, std::try_to_lock);
  if (!lock) return {};
  has_news_ = false;
  return std::exchange(news_, {});
}

// ---- the other thread ----

void Monitors::run() {
  std::vector<pollfd> entries;
  while (!stop_) {
    take_wishes();
    std::int64_t wait_ns = -1;
    entries.assign(1, {wake_read_.fd(), POLLIN, 0});
    const std::int64_t now_ns = base::monotonic_ns();
    for (const Running& one : running_) {
      entries.push_back({one.pipe.fd(), POLLIN, 0});
      const std::int64_t left_ns = std::max<std::int64_t>(one.stream.deadline_ns() - now_ns, 0);
      wait_ns = std::min(wait_ns < 0 ? kMostWaitNs : wait_ns, left_ns);
    }
    const int timeout_ms = wait_ns < 0 ? -1 : static_cast<int>(wait_ns / 1'000'000) + 1;
    ::poll(entries.data(), entries.size(), timeout_ms);
    if (entries[0].revents != 0) {
      std::array<char, 64> drain{};
      while (::read(wake_read_.fd(), drain.data(), drain.size()) > 0) {
      }
    }
    for (std::size_t i = 0; i < running_.size(); ++i) {
      if (entries[i + 1].revents != 0) read_from(running_[i]);
      look_at(running_[i]);
    }
    std::erase_if(running_, [](const Running& one) { return one.over; });
    publish();
  }
}

void Monitors::take_wishes() {
  std::vector<Wish> wishes;
  {
    const std::lock_guard lock(inbox_);
    wishes.swap(wishes_);
  }
  for (Wish& one : wishes) {
    for (Running& running : running_) {
      if (running.monitor.name == one.monitor.name) cut(running, std::string(kRemoved));
    }
    std::erase_if(running_, [](const Running& running) { return running.over; });
    if (!one.pipe.valid()) continue;
    running_.push_back({one.monitor,
                        std::move(one.pipe),
                        MonitorStream(one.monitor.rate_hz, base::monotonic_ns()),
                        {}});
    Running& fresh = running_.back();
    const std::string fault = fault_of_monitor_name(fresh.monitor.name);
    if (!fault.empty()) cut(fresh, fault);
    if (running_.size() > kMost) cut(fresh, fmt::format("{} monitors are the most", kMost));
    std::erase_if(running_, [](const Running& running) { return running.over; });
  }
  if (!wishes.empty()) publish();
}

// One piece at a time: a flood must not starve the others.
void Monitors::read_from(Running& one) {
  std::array<char, kReadBytes> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  const ssize_t got = ::read(one.pipe.fd(), buffer.data(), buffer.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    one.stream.end();
  } else {
    one.stream.take({buffer.data(), static_cast<std::size_t>(got)}, base::monotonic_ns());
  }
}

void Monitors::look_at(Running& one) {
  one.stream.look(base::monotonic_ns());
  if (one.places.empty() && !one.stream.metrics().empty() && place(one)) tell(one, {});
  if (!one.places.empty()) {
    for (std::size_t i = 0; i < one.places.size(); ++i) {
      values_[one.places[i]] = one.stream.values()[i];
    }
  }
  if (!one.stream.reason().empty()) cut(one, one.stream.reason());
}

// False: it is cut off, its metrics can't be taken.
bool Monitors::place(Running& one) {
  auto known = std::make_shared<Known>(*named_);
  std::vector<std::size_t> places;
  for (const MonitorMetric& metric : one.stream.metrics()) {
    if (!levels_.contains(metric.level)) {
      cut(one, fmt::format("its metric {} is of level {}, of which nothing is measured here",
                           metric.name, metric.level));
      return false;
    }
    const std::string name = fmt::format("{}.{}.{}", metric.level, one.monitor.name, metric.name);
    const auto found = std::ranges::find(known->columns, name, &record::Column::name);
    places.push_back(static_cast<std::size_t>(found - known->columns.begin()));
    if (found == known->columns.end()) {
      known->columns.push_back({name, metric.kind, true, metric.unit});
    } else if (found->kind != metric.kind || found->unit != metric.unit) {
      cut(one, fmt::format("its metric {} was of another kind or unit before: give the monitor "
                           "another name",
                           metric.name));
      return false;
    }
  }
  if (known->columns.size() > kMostColumns) {
    cut(one, fmt::format("with its metrics there would be more than {}", kMostColumns));
    return false;
  }
  record::Device device;
  device.name = one.monitor.name;
  device.kind = record::kMonitorKind;
  device.model = one.monitor.about;
  device.memory_bytes = record::unknown(record::State::kNotSupported);
  known->devices.push_back(std::move(device));
  values_.resize(known->columns.size(), record::unknown(record::State::kNotYet));
  one.places = std::move(places);
  named_ = std::move(known);
  return true;
}

void Monitors::cut(Running& one, const std::string& reason) {
  if (one.over) return;
  one.over = true;
  for (const std::size_t place : one.places) {
    values_[place] = record::unknown(record::State::kVanished);
  }
  tell(one, reason);
}

void Monitors::tell(const Running& one, std::string reason) {
  MonitorNews news{one.monitor.name, {}, std::move(reason)};
  for (const MonitorMetric& metric : one.stream.metrics()) {
    if (levels_.contains(metric.level) &&
        std::ranges::find(news.levels, metric.level) == news.levels.end()) {
      news.levels.push_back(metric.level);
    }
  }
  if (news.levels.empty()) news.levels.emplace_back("node");
  const std::lock_guard lock(inbox_);
  news_.push_back(std::move(news));
  has_news_.store(true, std::memory_order_release);
}

void Monitors::publish() {
  Round& round = latest_.next();
  round.known = named_;
  std::ranges::copy(values_, round.values.begin());
  latest_.publish();
}

}  // namespace tools
