#include "probe/gpu_device.hpp"

#include <algorithm>
#include <utility>

#include "probe/scan.hpp"

namespace probe {
namespace {

using record::Kind;
using record::State;
using record::unknown;

enum Metric : std::size_t {
  kUtilization,
  kMemoryUtilization,
  kMemory,
  kCapacity,
  kPower,
  kEnergy,
  kTemperature,
  kClock,
  kMemoryClock,
  kThrottle,
  kOurMemory,
  kOurUtilization,
};

struct MetricName {
  std::string_view name;
  bool of_slices;  // the driver has it for MIG slices, or it must be said that it hasn't
  Kind kind = Kind::kGauge;
};

constexpr std::array<MetricName, 12> kNames{{
    {"utilization_percent", true},
    {"memory_utilization_percent", false},
    {"memory_bytes", true},
    {"capacity_memory_bytes", true},
    {"power_milliwatts", false},
    {"energy_millijoules", false, Kind::kCounter},
    {"temperature_celsius", false},
    {"clock_hz", false},
    {"memory_clock_hz", false},
    {"throttle_reasons", false},
    {"memory_bytes", true},
    {"utilization_percent", true},
}};

constexpr std::size_t kNoPlace = kNames.size();
constexpr std::uint64_t kHzPerMegahertz = 1'000'000;
constexpr std::uint64_t kMostCelsius = 1000;

constexpr bool is_of_process(std::size_t metric) noexcept { return metric >= kOurMemory; }

constexpr bool is_utilization(std::size_t metric) noexcept {
  return metric == kUtilization || metric == kMemoryUtilization || metric == kOurUtilization;
}

std::size_t columns_of(GpuLevels levels, bool slice) noexcept {
  std::size_t count = 0;
  for (std::size_t metric = 0; metric < kNames.size(); ++metric) {
    const bool level = is_of_process(metric) ? levels.process : levels.node;
    if (level && (!slice || kNames[metric].of_slices)) ++count;
  }
  return count;
}

// What the driver gave, when it can be true.
nvml::Return checked(nvml::Return answer, std::uint64_t number, std::uint64_t most) noexcept {
  if (answer != nvml::kSuccess || number <= most) return answer;
  return number == nvml::kNoNumber32 || number == nvml::kNoNumber64 ? nvml::kNotSupported
                                                                    : nvml::kUnknown;
}

constexpr auto kMost = static_cast<std::uint64_t>(kMostNumber);

}  // namespace

std::size_t GpuLevels::card_columns() const noexcept { return columns_of(*this, false); }
std::size_t GpuLevels::slice_columns() const noexcept { return columns_of(*this, true); }

GpuDevice::GpuDevice(GpuCard card, GpuLevels levels) : card_(std::move(card)), levels_(levels) {
  static_assert(kNames.size() == kMetrics);
  std::size_t place = 0;
  for (std::size_t metric = 0; metric < kMetrics; ++metric) {
    const bool level = is_of_process(metric) ? levels.process : levels.node;
    const bool there = level && (!card_.is_slice() || kNames[metric].of_slices);
    places_[metric] = there ? place++ : kNoPlace;
  }
  values_.assign(place, unknown(State::kNotYet));
}

void GpuDevice::replace(GpuCard card) {
  if (card.uuid != card_.uuid) continue_energy();
  reloaded_ = true;
  second_memory_ = true;
  card_ = std::move(card);
}

// The driver counts from zero again: the next value is added to what there was.
void GpuDevice::continue_energy() noexcept {
  energy_base_ = std::min(kMostNumber, energy_base_ + std::exchange(energy_, 0));
}

bool GpuDevice::has(std::size_t metric) const noexcept { return places_[metric] != kNoPlace; }

std::string GpuDevice::column(std::size_t metric) const {
  std::string name(is_of_process(metric) ? "process." : "node.");
  name += card_.name();
  name += '.';
  return name.append(kNames[metric].name);
}

void GpuDevice::add_columns(std::vector<record::Column>& columns) const {
  for (std::size_t metric = 0; metric < kMetrics; ++metric) {
    if (has(metric)) columns.push_back({column(metric), kNames[metric].kind});
  }
}

void GpuDevice::put_unknown(std::size_t metric, State state, std::string_view reason,
                            MissingList& missing) {
  if (!has(metric)) return;
  values_[places_[metric]] = unknown(state);
  if (std::exchange(said_[metric], true)) return;
  missing.say(column(metric), state, reason);
}

void GpuDevice::put(std::size_t metric, nvml::Return answer, std::uint64_t number,
                    std::string_view function, MissingList& missing) {
  State state = state_of(answer);
  // Older drivers don't know what to do with a slice there.
  if (card_.is_slice() && answer == nvml::kInvalidArgument) state = State::kNotSupported;
  if (is_driver_gone(answer) || state == State::kVanished) worst_ = answer;
  if (!has(metric) || worst_ != nvml::kSuccess) return;
  if (state == State::kMeasured) {
    values_[places_[metric]] = static_cast<record::Value>(number);
    return;
  }
  std::string reason;
  if (state == State::kNotSupported && is_utilization(metric) &&
      (card_.is_slice() || card_.mig_mode)) {
    reason = "MIG: the driver doesn't measure how busy slices are";
  } else {
    reason.append(function).append(": ").append(words_of(answer));
  }
  put_unknown(metric, state, reason, missing);
}

void GpuDevice::forget(State state) { std::ranges::fill(values_, unknown(state)); }

void GpuDevice::read_memory(const Nvml& nvml, MissingList& missing) {
  std::uint64_t used = 0;
  std::uint64_t total = 0;
  nvml::Return answer = nvml::kFunctionNotFound;
  std::string_view function = nvml.memory_v2.name();
  if (second_memory_) {
    nvml::MemoryV2 memory;
    answer = nvml.memory_v2(card_.handle, &memory);
    used = memory.used;
    total = memory.total;
  }
  if (answer == nvml::kInvalidArgument || state_of(answer) == State::kNotSupported) {
    second_memory_ = false;
    function = nvml.memory.name();
    nvml::Memory memory;
    answer = nvml.memory(card_.handle, &memory);
    used = memory.used;
    total = memory.total;
  }
  const nvml::Return total_answer = checked(answer, total, kMost);
  put(kMemory, checked(answer, used, kMost), used, function, missing);
  put(kCapacity, total_answer, total, function, missing);
  if (total_answer == nvml::kSuccess) capacity_bytes_ = static_cast<record::Value>(total);
}

void GpuDevice::read_energy(const Nvml& nvml, MissingList& missing) {
  std::uint64_t energy = 0;
  const nvml::Return answer = nvml.energy(card_.handle, &energy);
  const nvml::Return right = checked(answer, energy, kMost);
  if (right == nvml::kSuccess) {
    const auto now = static_cast<std::int64_t>(energy);
    if (std::exchange(reloaded_, false) && now < energy_) continue_energy();
    energy_ = std::max(energy_, now);
  }
  const std::int64_t sum = std::min(kMostNumber, energy_base_ + energy_);
  put(kEnergy, right, static_cast<std::uint64_t>(sum), nvml.energy.name(), missing);
}

void GpuDevice::read_temperature(const Nvml& nvml, MissingList& missing) {
  nvml::Temperature temperature;
  std::string_view function = nvml.sensor.name();
  nvml::Return answer = nvml.sensor(card_.handle, &temperature);
  auto celsius = static_cast<std::uint32_t>(temperature.celsius);  // below zero: not to be true
  if (state_of(answer) == State::kNotSupported) {
    function = nvml.temperature.name();
    answer = nvml.temperature(card_.handle, nvml::kTemperatureGpu, &celsius);
  }
  put(kTemperature, checked(answer, celsius, kMostCelsius), celsius, function, missing);
}

nvml::Return GpuDevice::read(const Nvml& nvml, MissingList& missing) {
  if (card_.handle == nullptr) {
    forget(state_of(card_.opened));
    missing.say("node." + card_.name(), state_of(card_.opened), words_of(card_.opened));
    return state_of(card_.opened) == State::kVanished ? nvml::kGpuIsLost : nvml::kSuccess;
  }
  worst_ = nvml::kSuccess;
  read_memory(nvml, missing);  // first: slices have it, too, and it shows whether the card is there
  const auto number = [&](std::size_t metric, const auto& function, std::uint64_t most,
                          std::uint64_t factor, auto... arguments) {
    if (worst_ != nvml::kSuccess || !has(metric)) return;
    std::uint32_t value = 0;
    const nvml::Return answer = function(card_.handle, arguments..., &value);
    put(metric, checked(answer, value, most), value * factor, function.name(), missing);
  };
  if (worst_ == nvml::kSuccess && has(kUtilization)) {
    nvml::Utilization busy;
    const nvml::Return answer = nvml.utilization(card_.handle, &busy);
    const auto name = nvml.utilization.name();
    put(kUtilization, checked(answer, busy.gpu, 100), busy.gpu, name, missing);
    put(kMemoryUtilization, checked(answer, busy.memory, 100), busy.memory, name, missing);
  }
  number(kPower, nvml.power, INT32_MAX, 1);
  if (worst_ == nvml::kSuccess && has(kEnergy)) read_energy(nvml, missing);
  if (worst_ == nvml::kSuccess && has(kTemperature)) read_temperature(nvml, missing);
  number(kClock, nvml.clock, INT32_MAX, kHzPerMegahertz, nvml::kClockSm);
  number(kMemoryClock, nvml.clock, INT32_MAX, kHzPerMegahertz, nvml::kClockMemory);
  if (worst_ == nvml::kSuccess && has(kThrottle)) {
    std::uint64_t mask = 0;
    const nvml::Return answer = nvml.throttle_reasons(card_.handle, &mask);
    put(kThrottle, answer, mask & (kMost - 1), nvml.throttle_reasons.name(), missing);
  }
  if (worst_ == nvml::kSuccess) return worst_;
  forget(State::kVanished);
  if (is_driver_gone(worst_)) return worst_;
  missing.say("node." + card_.name(), State::kVanished, words_of(worst_));
  return nvml::kGpuIsLost;
}

nvml::Return GpuDevice::read_processes(const Nvml& nvml, GpuProcesses& processes,
                                       std::uint64_t now_us) {
  shares_ = {};
  if (!levels_.process || card_.handle == nullptr) return nvml::kSuccess;
  shares_.memory = processes.memory_of(nvml, card_.handle);
  if (is_driver_gone(shares_.memory.answer)) return shares_.memory.answer;
  shares_.utilization = processes.utilization_of(nvml, card_.handle, now_us);
  return nvml::kSuccess;
}

void GpuDevice::put_share(std::size_t metric, const GpuShare& share, State numbers,
                          std::string_view function, MissingList& missing) {
  if (share.answer == nvml::kSuccess && numbers == State::kNotSupported) {
    put_unknown(metric, numbers, "the driver counts processes of another pid namespace", missing);
  } else if (share.answer == nvml::kSuccess && numbers == State::kNotYet) {
    if (has(metric)) values_[places_[metric]] = unknown(State::kNotYet);
  } else {
    put(metric, share.answer, static_cast<std::uint64_t>(share.value), function, missing);
  }
}

void GpuDevice::judge_processes(const GpuProcesses& processes, MissingList& missing) {
  if (card_.handle == nullptr || worst_ != nvml::kSuccess || !processes.known()) return;
  put_share(kOurMemory, shares_.memory, processes.memory_state(),
            "nvmlDeviceGetComputeRunningProcesses", missing);
  put_share(kOurUtilization, shares_.utilization, processes.utilization_state(),
            "nvmlDeviceGetProcessUtilization", missing);
  if (worst_ != nvml::kSuccess) forget(State::kVanished);
}

}  // namespace probe
