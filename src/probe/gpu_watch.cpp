#include "probe/gpu_watch.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "probe/gpu_cards.hpp"
#include "probe/gpu_set.hpp"
#include "probe/missing.hpp"
#include "probe/visible_devices.hpp"

namespace probe {
namespace {

using record::State;

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kRestTimes = 9;  // a round's duration, before the next begins
constexpr std::int64_t kLeastRestNs = kSecondNs / 100;
constexpr std::int64_t kInitNs = 20 * kSecondNs;  // a node of many sleeping cards takes that long
constexpr std::size_t kUsualEnvironBytes = 64 << 10;
constexpr std::size_t kMostEnvironBytes = 2 << 20;  // as much as execve(2) takes by default

class GpuWatch {
 public:
  GpuWatch(const GpuOptions& options, GpuExchange& exchange)
      : options_(options), exchange_(exchange), set_(options.levels), processes_(options.root) {}

  void run();

 private:
  struct Refusal {
    State state = State::kNotSupported;
    std::string reason;
  };

  std::optional<Refusal> open();
  void close();
  void open_again();
  void choose();
  void read_environ();
  void take_inbox();
  std::int64_t round(bool full);
  nvml::Return read_all(bool full);
  void publish(std::int64_t rest_ns);

  const GpuOptions& options_;
  GpuExchange& exchange_;
  std::unique_ptr<Nvml> nvml_;  // empty: there is none, or it has gone
  std::int64_t opened_ns_ = 0;  // the last try
  GpuSet set_;
  GpuProcesses processes_;
  MissingList missing_;
  std::shared_ptr<const GpuReport> report_;  // as published
  std::int64_t took_ns_ = 0;                 // the last round
};

// Why it can't be used, if so.
std::optional<GpuWatch::Refusal> GpuWatch::open() {
  opened_ns_ = base::monotonic_ns();
  exchange_.expect_back(opened_ns_ + kInitNs);
  auto nvml = std::make_unique<Nvml>(options_.library);
  if (!nvml->loaded()) {
    return Refusal{State::kNotSupported, "no NVIDIA driver (" + options_.library +
                                             " can't be loaded: " + nvml->reason() + ")"};
  }
  nvml::Return answer = nvml->init();
  GpuCards cards;
  if (answer == nvml::kSuccess) {
    cards = list_gpu_cards(*nvml);
    answer = cards.counted;
  }
  if (answer != nvml::kSuccess) {
    const State state = is_driver_gone(answer) ? State::kNotSupported : state_of(answer);
    return Refusal{state, "the NVIDIA driver can't be used: " + words_of(answer)};
  }
  if (cards.list.empty()) return Refusal{State::kNotSupported, "the NVIDIA driver has no cards"};
  if (cards.count > kMostCards) {
    missing_.say("node.gpu_count", State::kNotSupported,
                 "only the first " + std::to_string(kMostCards) + " of " +
                     std::to_string(cards.count) + " cards are measured");
  }
  set_.set_cards(std::move(cards.list));
  nvml_ = std::move(nvml);
  return std::nullopt;
}

void GpuWatch::close() {
  exchange_.expect_back(base::monotonic_ns() + kInitNs);
  nvml_.reset();
  exchange_.expect_back(0);
}

// Which cards are measured, and how large each is.
void GpuWatch::choose() {
  exchange_.expect_back(base::monotonic_ns() + kInitNs);
  set_.choose(*nvml_, missing_);
  exchange_.expect_back(0);
}

void GpuWatch::open_again() {
  if (base::monotonic_ns() - opened_ns_ < options_.reload_pause_ns) return;
  const bool open_now = !open();
  exchange_.expect_back(0);
  if (open_now) choose();
}

void GpuWatch::read_environ() {
  if (options_.root_pid == 0) return;
  const std::string path =
      options_.root + "/proc/" + std::to_string(options_.root_pid) + "/environ";
  auto text = base::read_small_file(path, kUsualEnvironBytes);
  if (text && text->size() == kUsualEnvironBytes) {
    text = base::read_small_file(path, kMostEnvironBytes);
  }
  if (text) {
    set_.set_visible(parse_environ(*text));
  } else {
    const bool refused = errno == EACCES || errno == EPERM;
    missing_.say("process.gpu", refused ? State::kNotPermitted : State::kNotYet,
                 "CUDA_VISIBLE_DEVICES of the process can't be read: all cards are shown");
  }
}

void GpuWatch::take_inbox() {
  if (auto pids = exchange_.take_processes()) processes_.set_ours(*std::move(pids));
  auto list = exchange_.take_visible();
  if (!list) return;
  set_.set_list(*std::move(list));
  if (nvml_) choose();
}

// kSuccess, or why the driver has to be opened again.
nvml::Return GpuWatch::read_all(bool full) {
  const auto now_us = static_cast<std::uint64_t>(base::clock_ns(CLOCK_REALTIME) / 1000);
  std::size_t lost = 0;
  std::size_t visible = 0;
  for (auto& member : set_.members()) {
    if (!member.visible) continue;
    ++visible;
    exchange_.expect_back(base::monotonic_ns() + options_.patience_ns);
    nvml::Return answer = member.device.read(*nvml_, missing_);
    if (answer == nvml::kGpuIsLost) {
      ++lost;
      continue;
    }
    if (answer == nvml::kSuccess && full) {
      answer = member.device.read_processes(*nvml_, processes_, now_us);
    }
    if (answer != nvml::kSuccess) return answer;
  }
  if (full) {
    processes_.end_round(base::monotonic_ns());
    for (auto& member : set_.members()) {
      if (member.visible) member.device.judge_processes(processes_, missing_);
    }
  }
  return lost > 0 && lost == visible ? nvml::kGpuIsLost : nvml::kSuccess;
}

// Returns how long to leave the driver alone.
std::int64_t GpuWatch::round(bool full) {
  const std::int64_t begin_ns = base::monotonic_ns();
  const nvml::Return answer = read_all(full);
  exchange_.expect_back(0);
  const std::int64_t took_ns = base::monotonic_ns() - begin_ns;
  if (answer != nvml::kSuccess) {
    missing_.say("node.gpu_driver", State::kVanished,
                 "the NVIDIA driver has gone (" + words_of(answer) + "); it is looked for again");
    set_.forget(State::kVanished);
    close();
  }
  // One slow round is no reason for a long rest.
  const std::int64_t slow_ns = std::min(took_ns, std::exchange(took_ns_, took_ns));
  return std::max(kLeastRestNs, kRestTimes * slow_ns);
}

// For the tick: the values, and what is new.
void GpuWatch::publish(std::int64_t rest_ns) {
  if (!report_ || report_->missing.size() != missing_.list().size() ||
      report_->devices.size() != set_.devices().size()) {
    report_ = std::make_shared<const GpuReport>(
        GpuReport{set_.columns(), set_.devices(), missing_.list()});
  }
  GpuRound& round = exchange_.next_round();
  round.report = report_;
  round.values.clear();
  for (const auto& member : set_.members()) {
    const auto values = member.device.values();
    round.values.insert(round.values.end(), values.begin(), values.end());
  }
  round.fresh_until_ns = base::monotonic_ns() + rest_ns + options_.patience_ns;
  exchange_.publish();
}

void GpuWatch::run() {
  const auto refusal = open();
  exchange_.expect_back(0);
  if (refusal) {
    missing_.say("node.gpu", refusal->state, refusal->reason);
    publish(0);
    return;
  }
  read_environ();
  take_inbox();
  choose();
  if (!set_.any_visible()) {
    missing_.say("node.gpu", State::kNotSupported,
                 "CUDA_VISIBLE_DEVICES shows the process no card of this node");
  }
  for (std::uint32_t wishes = GpuExchange::kFull; (wishes & GpuExchange::kStop) == 0;) {
    take_inbox();
    if (!nvml_) open_again();
    const bool visible = set_.any_visible();
    const bool full = (wishes & GpuExchange::kFull) != 0;
    const std::int64_t rest_ns = nvml_ && visible ? round(full) : kLeastRestNs;
    publish(rest_ns);
    if (exchange_.sleep(rest_ns)) break;
    wishes = exchange_.wait(visible || !nvml_ ? kSecondNs : -1);
  }
  close();
}

}  // namespace

void watch_gpus(const GpuOptions& options, GpuExchange& exchange) noexcept {
  bool failed = false;
  try {
    GpuWatch(options, exchange).run();
  } catch (const std::exception&) {
    failed = true;  // no memory
  }
  exchange.end(failed);
}

}  // namespace probe
