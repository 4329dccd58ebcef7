#include "probe/gpu.hpp"

#include <algorithm>
#include <exception>
#include <system_error>

#include "base/process.hpp"

namespace probe {
namespace {

using record::State;
using record::unknown;

constexpr std::int64_t kStartNs = 20'000'000;
constexpr std::int64_t kStopNs = 100'000'000;

}  // namespace

Gpus::Gpus(const GpuOptions& options, MissingList& missing)
    : missing_(missing),
      exchange_(std::make_shared<GpuExchange>()),
      most_columns_(kMostCards * options.levels.card_columns() +
                    kMostSlices * options.levels.slice_columns()) {
  try {
    const base::SignalsBlocked blocked;
    thread_ = std::thread([options, exchange = exchange_] { watch_gpus(options, *exchange); });
  } catch (const std::system_error&) {
    missing_.say("node.gpu", State::kNotSupported, "no thread could be started to ask the driver");
  }
  if (thread_.joinable() && exchange_->await_end(kStartNs)) columns_changed();
}

Gpus::~Gpus() {
  if (!thread_.joinable()) return;
  exchange_->stop();
  if (exchange_->await_end(kStopNs)) {
    thread_.join();
  } else {
    thread_.detach();  // what it uses is its own
  }
}

bool Gpus::columns_changed() noexcept {
  const auto& report = exchange_->newest().report;
  if (report == report_) return false;
  try {
    for (const auto& missing : report->missing) {
      missing_.say(missing.name, missing.state, missing.reason);
    }
    const bool more = report->columns.size() > columns_.size();
    if (more) columns_ = report->columns;
    report_ = report;
    return more;
  } catch (const std::exception&) {
    return false;  // no memory: at the next tick
  }
}

void Gpus::read(std::span<record::Value> values, const Turn& turn) noexcept {
  if (exchange_->is_silent(turn.now_ns)) {
    missing_.say("node.gpu_driver", State::kNotYet, "the GPU driver doesn't answer");
  } else if (exchange_->failed()) {
    missing_.say("node.gpu_driver", State::kNotYet, "no memory was left to ask the GPU driver");
  }
  if (columns_.empty()) return;
  const GpuRound& round = exchange_->newest();
  const bool fresh = turn.now_ns <= round.fresh_until_ns;
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = fresh && i < round.values.size() ? round.values[i] : unknown(State::kNotYet);
  }
  exchange_->ask(turn.full);
}

std::vector<record::Device> Gpus::take_devices() noexcept {
  if (!report_ || report_->devices.size() <= devices_taken_) return {};
  try {
    const auto from = report_->devices.begin() + static_cast<std::ptrdiff_t>(devices_taken_);
    std::vector<record::Device> devices(from, report_->devices.end());
    devices_taken_ = report_->devices.size();
    return devices;
  } catch (const std::exception&) {
    return {};  // no memory: next time
  }
}

void Gpus::set_processes(std::span<const pid_t> pids) noexcept { exchange_->set_processes(pids); }

void Gpus::set_visible_devices(std::optional<std::string_view> list) {
  exchange_->set_visible(list ? std::optional<std::string>(*list) : std::nullopt);
}

}  // namespace probe
