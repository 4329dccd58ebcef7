#pragma once
// Which cards a process may use: CUDA_VISIBLE_DEVICES, as CUDA reads it ("CUDA Environment
// Variables" in the CUDA C++ Programming Guide).

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace probe {

struct VisibleDevices {
  std::optional<std::string> list;  // nullopt: CUDA_VISIBLE_DEVICES isn't set
  // CUDA_DEVICE_ORDER=PCI_BUS_ID. Else CUDA counts the fastest card first, by a rule of its own;
  // equal cards it counts by their bus addresses.
  bool bus_order = false;
};

// Parses /proc/PID/environ (proc_pid_environ(5)): the environment as it was when the program began,
// ended by NULs. Of two settings the first counts, as with getenv(3).
//
//   HOME=/home/user\0CUDA_VISIBLE_DEVICES=3,1\0CUDA_DEVICE_ORDER=PCI_BUS_ID\0
VisibleDevices parse_environ(std::string_view text);

// A card, or a MIG slice of the card before it.
struct VisibleCandidate {
  std::string uuid;       // "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", "MIG-…"
  std::uint64_t bus = 0;  // sorts as the bus addresses do
  bool is_slice = false;
  bool usable = true;       // false: it can't be opened, so CUDA doesn't count it
  std::string card_uuid{};  // of a slice: its card's
  std::uint32_t gpu_instance = 0;
  std::uint32_t compute_instance = 0;
};

struct VisibleSelection {
  std::vector<std::size_t> chosen;  // places in the candidates, in the order CUDA counts them
  bool by_number = false;           // an entry of the list was one
  std::string unmatched;            // the entry that means nothing here; it ends the list
};

// Entries are numbers (by bus address), "GPU-…" or "MIG-…", which may be cut where they are still
// unique, or "MIG-GPU-<card>/<gpu instance>/<compute instance>" (drivers before 470). A card brings
// its slices along. The list ends at "-1" and at an entry that means nothing; "" means none, no
// list all, in the candidates' own order.
VisibleSelection select_visible(const std::optional<std::string>& list,
                                std::span<const VisibleCandidate> candidates);

}  // namespace probe
