#pragma once
// What the driver's thread does: loads the library, finds the cards, reads them when it is asked,
// and begins again when the driver was reloaded.

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "probe/gpu_device.hpp"
#include "probe/gpu_exchange.hpp"

namespace probe {

struct GpuOptions {
  std::string root = "/";  // where proc/ lies
  pid_t root_pid = 0;      // whose CUDA_VISIBLE_DEVICES counts; 0: all cards do
  GpuLevels levels;
  std::string library = Nvml::kLibrary;
  std::int64_t reload_pause_ns = 30'000'000'000;  // between two tries to initialise the driver
  // How long a card may take to answer, and how old values may become (beside the rest between two
  // rounds).
  std::int64_t patience_ns = 2'000'000'000;
};

// Returns when it is told to stop, and when there is nothing to watch: no library, no driver, no
// cards (said in the last report). Allocates; calls the driver, which may never come back.
//
// A round is made when the tick asks for one, or after a second; never so often that the driver is
// busy with us for more than a tenth of the time.
void watch_gpus(const GpuOptions& options, GpuExchange& exchange) noexcept;

}  // namespace probe
