#pragma once
// Looks through the descriptors of processes for those of graphics cards.

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "probe/drm_cards.hpp"
#include "probe/drm_clients.hpp"
#include "probe/process_files.hpp"

namespace probe {

inline constexpr std::size_t kMostDrmProcesses = 256;
inline constexpr std::size_t kMostDrmDescriptors = 4096;

// Costs about 1 us for each descriptor of a process (readlink), and what the driver needs for each
// of a card. (xe keeps a card awake for that; nobody else does.)
class DrmScan {
 public:
  // What a round has met, beside the clients.
  struct Notes {
    std::size_t processes = 0;  // that are there
    std::size_t refused = 0;    // whose descriptors can't be listed
    bool cut = false;           // there was more than may be looked at
    bool compute = false;       // one has /dev/kfd open: work past the kernel
    // By card: one sleeps that has descriptors, and wasn't asked; one doesn't tell.
    std::vector<char> asleep;
    std::vector<char> untold;
  };

  DrmScan(const std::string& root, const DrmCards& cards);

  // One round of `clients`. Reading what a driver tells may take long, or hang.
  const Notes& run(std::span<const pid_t> pids, DrmClients& clients);

 private:
  void look_at(pid_t pid, DrmClients& clients);
  void look_at(const base::File& directory, int number, pid_t pid, DrmClients& clients);
  void read_client(pid_t pid, int number, std::optional<std::size_t> card, DrmClients& clients);
  // nullopt: only its text tells.
  [[nodiscard]] std::optional<std::size_t> card_of(std::string_view node) const noexcept;
  [[nodiscard]] std::size_t card_at(std::string_view slot) const noexcept;
  bool sleeps(std::size_t card, DrmClients& clients);

  std::string root_;
  ProcDirectory proc_;
  DrmCards cards_;
  std::vector<char> listing_;
  std::vector<char> text_;
  Notes notes_;
  std::vector<char> sleeps_;     // by card: 0 not asked in this round, 1 no, 2 yes
  std::size_t descriptors_ = 0;  // of this round
};

}  // namespace probe
