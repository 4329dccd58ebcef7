#include "probe/missing.hpp"

#include <algorithm>
#include <exception>
#include <string>

#include "base/clock.hpp"

namespace probe {

MissingList::MissingList() { list_.reserve(32); }

void MissingList::say(std::string_view name, record::State state,
                      std::string_view reason) noexcept {
  const auto same = [&](const record::Missing& missing) { return missing.name == name; };
  if (std::ranges::any_of(list_, same)) return;
  try {
    list_.push_back({base::monotonic_ns(), std::string(name), state, std::string(reason)});
  } catch (const std::exception&) {
    return;  // no memory for it
  }
}

}  // namespace probe
