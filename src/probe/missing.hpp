#pragma once
// What can't be measured here, or not fully, and why. Most is said once per name; what happens
// again and again, or only for a while, with its time.
//
// A reason that begins with kLowerBound is about values that are measured but may be too small:
//   state kMeasured, time_ns 0        in the whole recording
//   state kMeasured, time_ns > 0      within a second of that time
//   another state                     from then on, until the name is said with kMeasured alone

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "record/records.hpp"

namespace probe {

inline constexpr std::string_view kLowerBound = "lower bound: ";

class MissingList {
 public:
  MissingList();

  // The first time for `name` (record::Missing::name) wins; later ones are nothing. Allocates the
  // first time only.
  void say(std::string_view name, record::State state, std::string_view reason) noexcept;

  // The same as often as it happens, with the time, but not the same again within a second.
  // Beyond kMost in all, or kMostOfOne of a name, it is said once more, about the whole recording.
  void say_again(std::string_view name, record::State state, std::string_view reason,
                 std::int64_t now_ns) noexcept;

  [[nodiscard]] const std::vector<record::Missing>& list() const noexcept { return list_; }

  static constexpr std::size_t kMost = 1000;
  static constexpr std::size_t kMostOfOne = 250;

 private:
  void add(std::int64_t time_ns, std::string_view name, record::State state,
           std::string_view reason) noexcept;

  std::vector<record::Missing> list_;
};

// Values that may be too small for a while: said when that begins, and when it is over.
class LowerBoundNote {
 public:
  // `why`: the state of what isn't in the values. `reason` without kLowerBound.
  LowerBoundNote(MissingList& missing, std::initializer_list<std::string_view> names,
                 record::State why, std::string_view reason);

  // Once a tick. Over is what hasn't held for a second.
  void set(bool holds, std::int64_t now_ns) noexcept;

 private:
  MissingList* missing_;
  std::vector<std::string> names_;
  record::State why_;
  std::string reason_;
  bool said_ = false;
  std::int64_t held_ns_ = 0;  // when it held last
};

}  // namespace probe
