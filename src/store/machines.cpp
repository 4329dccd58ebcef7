#include "store/machines.hpp"

#include <algorithm>

namespace store {

const record::Machine* machine_at(const Recording& recording, std::int64_t time_ns) {
  const record::Machine* found = nullptr;
  for (const record::Machine& machine : recording.machines()) {
    if (found == nullptr || machine.time_ns <= time_ns) found = &machine;
  }
  return found;
}

double cores_of(const record::Machine* machine, std::string_view level) noexcept {
  if (machine == nullptr) return 0;
  const bool limited = level == "process" || level == "job";
  if (limited && !machine->affinity.empty()) return static_cast<double>(machine->affinity.size());
  return static_cast<double>(std::max<std::int64_t>(machine->cores_online, 0));
}

}  // namespace store
