#include "probe/drm_sensors.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <span>
#include <system_error>

#include "probe/scan.hpp"

namespace probe {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBufferBytes = 4096;  // a file of sysfs has no more

// How the text of a file becomes the value.
enum class Form { kNumber, kPercent, kThousandth, kDegrees, kMegahertz, kLevels };

struct Choice {
  DrmSensor sensor;
  bool in_hwmon;
  const char* path;
  Form form;
};

// The first one that gives a number counts. Documentation/gpu/amdgpu/thermal.rst for amdgpu's own;
// Documentation/hwmon/sysfs-interface.rst: microwatts, microjoules, millidegrees, Hz. Of amdgpu
// power1_average, or power1_input (newer; an APU's is with its cores), temp1 on the edge of the die
// or temp2 where it is hottest; of i915 and xe energy1 and temp1 are the card's, energy2 and temp2
// the package's (Documentation/ABI/testing/sysfs-driver-intel-xe-hwmon).
constexpr std::array kChoices{
    Choice{kDrmUtilization, false, "device/gpu_busy_percent", Form::kPercent},
    Choice{kDrmMemoryUtilization, false, "device/mem_busy_percent", Form::kPercent},
    Choice{kDrmMemory, false, "device/mem_info_vram_used", Form::kNumber},
    Choice{kDrmMainMemory, false, "device/mem_info_gtt_used", Form::kNumber},
    Choice{kDrmCapacity, false, "device/mem_info_vram_total", Form::kNumber},
    Choice{kDrmPower, true, "power1_average", Form::kThousandth},
    Choice{kDrmPower, true, "power1_input", Form::kThousandth},
    Choice{kDrmPower, true, "power2_input", Form::kThousandth},
    Choice{kDrmEnergy, true, "energy1_input", Form::kThousandth},
    Choice{kDrmEnergy, true, "energy2_input", Form::kThousandth},
    Choice{kDrmTemperature, true, "temp1_input", Form::kDegrees},
    Choice{kDrmTemperature, true, "temp2_input", Form::kDegrees},
    Choice{kDrmClock, true, "freq1_input", Form::kNumber},
    Choice{kDrmClock, false, "device/pp_dpm_sclk", Form::kLevels},
    Choice{kDrmClock, false, "gt_act_freq_mhz", Form::kMegahertz},                   // i915
    Choice{kDrmClock, false, "device/tile0/gt0/freq0/act_freq", Form::kMegahertz}};  // xe

DrmCause open_cause(int error) noexcept {
  switch (error) {
    case ENOENT:
      return DrmCause::kNoFile;
    case EACCES:
    case EPERM:
      return DrmCause::kRefused;
    case ENODEV:
    case ENXIO:
      return DrmCause::kGone;
    default:
      return DrmCause::kBusy;  // no descriptor left, a signal
  }
}

// Of an open file. The driver may refuse for now what everybody may open: amdgpu says EPERM while
// the card falls asleep or is being reset.
DrmCause read_cause(int error) noexcept {
  switch (error) {
    case EPERM:
    case EACCES:
    case EBUSY:
    case EAGAIN:
    case EINTR:
    case ETIME:
    case ETIMEDOUT:
      return DrmCause::kBusy;
    case ENODEV:
    case ENXIO:
      return DrmCause::kGone;
    default:
      return DrmCause::kNoAnswer;
  }
}

std::int64_t most(std::int64_t value, std::int64_t limit) noexcept {
  return value <= limit ? value : drm_unknown(DrmCause::kOdd);
}

std::int64_t value_of(std::string_view text, Form form) noexcept {
  if (form == Form::kLevels) return parse_dpm_clock(text);
  const std::int64_t number = Scanner(text).number().value_or(drm_unknown(DrmCause::kOdd));
  if (number < 0) return number;
  switch (form) {
    case Form::kPercent:
      return most(number, 100);
    case Form::kThousandth:
      return number / 1000;
    case Form::kDegrees:
      return most(number / 1000, 1000);
    case Form::kMegahertz:
      return number > 1'000'000 ? drm_unknown(DrmCause::kOdd) : number * 1'000'000;
    default:
      return number;
  }
}

std::int64_t read_file(const base::File& folder, const std::string& path, Form form,
                       std::span<char> buffer) noexcept {
  const base::File file = base::File::try_open_at(folder.fd(), path.c_str(), O_RDONLY);
  if (!file.valid()) return drm_unknown(open_cause(errno));
  errno = 0;
  const std::string_view text = base::read_text(file.fd(), buffer);
  if (text.empty()) return drm_unknown(errno != 0 ? read_cause(errno) : DrmCause::kNoAnswer);
  return value_of(text, form);
}

}  // namespace

std::int64_t parse_dpm_clock(std::string_view text) noexcept {
  constexpr std::int64_t kMegahertz = 1'000'000;
  for (Scanner lines(text); !lines.done();) {
    std::string_view line = lines.line();
    if (line.find('*') == std::string_view::npos) continue;
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    line.remove_prefix(colon + 1);
    const auto unit = std::min(line.find("Mhz"), line.find("MHz"));
    if (unit == std::string_view::npos) continue;
    return Scanner(line.substr(0, unit))
        .number_times(kMegahertz)
        .value_or(drm_unknown(DrmCause::kOdd));
  }
  return drm_unknown(DrmCause::kOdd);
}

DrmSensors::DrmSensors(const std::string& root, const DrmCard& card)
    : root_(root), card_(card), folder_(root + card.folder()), buffer_(kBufferBytes) {
  values_.fill(drm_unknown(DrmCause::kNotYet));
}

// kNotYet: it is there. (Another card may have got the number meanwhile.)
DrmCause DrmSensors::look(const base::File& folder) {
  const auto busy_or_gone = [] {
    return open_cause(errno) == DrmCause::kBusy ? DrmCause::kBusy : DrmCause::kGone;
  };
  if (!folder.valid()) return busy_or_gone();
  const base::File file = base::File::try_open_at(folder.fd(), "device/uevent", O_RDONLY);
  if (!file.valid()) return busy_or_gone();
  const std::string_view text = base::read_text(file.fd(), buffer_);
  const bool same = uevent_value(text, "DRIVER") == card_.driver &&
                    uevent_value(text, "PCI_SLOT_NAME") == card_.slot;
  return same ? DrmCause::kNotYet : DrmCause::kGone;
}

// "device/hwmon/hwmon5/", whose number changes when the driver is loaded again; empty: it has none.
std::string DrmSensors::hwmon() const {
  std::error_code error;
  for (fs::directory_iterator at(folder_ + "/device/hwmon", error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (number_behind(name, "hwmon") >= 0) return "device/hwmon/" + name + "/";
  }
  return {};
}

bool DrmSensors::has(DrmSensor sensor) const {
  const std::string place = hwmon();
  return std::ranges::any_of(kChoices, [&](const Choice& choice) {
    if (choice.sensor != sensor || (choice.in_hwmon && place.empty())) return false;
    std::string path = folder_ + "/";
    if (choice.in_hwmon) path += place;
    path += choice.path;
    return ::access(path.c_str(), F_OK) == 0;
  });
}

void DrmSensors::add_energy(std::int64_t millijoules) noexcept {
  if (millijoules < 0) {
    values_[kDrmEnergy] = millijoules;
    return;
  }
  if (energy_before_ < 0) {
    energy_millijoules_ = millijoules;
  } else if (millijoules >= energy_before_) {
    energy_millijoules_ += millijoules - energy_before_;
  } else if (millijoules < energy_before_ / 2) {
    energy_millijoules_ += millijoules;  // it began anew: its driver was loaded again
  } else {
    millijoules = energy_before_;  // inexact: the larger one stands until it is passed
  }
  energy_before_ = millijoules;
  energy_millijoules_ = std::min(energy_millijoules_, kMostNumber);
  values_[kDrmEnergy] = energy_millijoules_;
}

std::int64_t DrmSensors::read(const base::File& folder, DrmSensor sensor, const std::string& place,
                              bool asleep) {
  constexpr std::int64_t kNoFile = drm_unknown(DrmCause::kNoFile);
  std::int64_t value = kNoFile;
  for (const Choice& choice : kChoices) {
    if (choice.sensor != sensor || (choice.in_hwmon && place.empty())) continue;
    const std::string path = (choice.in_hwmon ? place : std::string()) + choice.path;
    std::int64_t now = drm_unknown(DrmCause::kAsleep);
    if (!asleep) {
      now = read_file(folder, path, choice.form, buffer_);
    } else if (::faccessat(folder.fd(), path.c_str(), F_OK, 0) != 0) {
      now = kNoFile;
    }
    if (now >= 0) return now;
    if (value == kNoFile) value = now;
  }
  return value;
}

// amdgpu adds up the use of memory itself, without asking the card.
bool DrmSensors::is_held(const base::File& folder, std::int64_t now_ns) {
  if (now_ns >= held_until_ns_) return false;
  return read(folder, kDrmMemory, {}, false) == values_[kDrmMemory] &&
         read(folder, kDrmMainMemory, {}, false) == values_[kDrmMainMemory];
}

// Documentation/ABI/testing/sysfs-devices-power: control "auto", or "on" for what never sleeps.
void DrmSensors::hold(const base::File& folder, std::int64_t now_ns) {
  constexpr std::int64_t kMillisecondNs = 1'000'000;
  constexpr std::int64_t kMostDelay = 60'000;
  constexpr std::int64_t kMore = 1'500;
  held_until_ns_ = now_ns;
  const std::int64_t utilization = values_[kDrmUtilization];
  if (utilization != 0 && utilization != drm_unknown(DrmCause::kNoFile)) return;
  const base::File control = base::File::try_open_at(folder.fd(), "device/power/control", O_RDONLY);
  if (!base::read_text(control.fd(), buffer_).starts_with("auto")) return;
  const std::int64_t delay =
      read_file(folder, "device/power/autosuspend_delay_ms", Form::kNumber, buffer_);
  if (delay >= 0) held_until_ns_ += (std::min(delay, kMostDelay) + kMore) * kMillisecondNs;
}

const DrmValues& DrmSensors::read(std::int64_t now_ns) {
  const base::File folder = base::File::try_open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_PATH);
  if (const DrmCause cause = look(folder); cause != DrmCause::kNotYet) {
    held_until_ns_ = 0;
    values_.fill(drm_unknown(cause));
    return values_;
  }
  const bool asleep = is_asleep(root_, card_);
  if (!asleep && is_held(folder, now_ns)) return values_;
  const std::string place = hwmon();
  for (std::size_t i = 0; i < kDrmSensors; ++i) {
    // The size of the card's memory is known without asking the card, too.
    values_[i] = read(folder, static_cast<DrmSensor>(i), place, asleep && i != kDrmCapacity);
  }
  add_energy(values_[kDrmEnergy]);
  held_until_ns_ = 0;
  if (!asleep) hold(folder, now_ns);
  return values_;
}

}  // namespace probe
