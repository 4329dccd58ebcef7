#pragma once
// How any thread wakes ours out of its poll. A socket pair: unlike event descriptors, its ends can
// be told from the user's own. Not thread-safe but for fd().

#include <optional>

#include "base/file.hpp"

namespace watch {

class Wake {
 public:
  Wake();

  // Makes anew what the user's code has closed. Their numbers may mean other files by now: those
  // are let alone.
  void look();
  // False: there is no descriptor left for a pair, so nobody can be woken.
  [[nodiscard]] bool works() const noexcept { return sender_.valid(); }
  void wake() const;
  // Readable once somebody called wake(); -1 when it doesn't work.
  [[nodiscard]] int fd() const noexcept { return receiver_.fd(); }
  void drain() const;

 private:
  void make();

  base::File sender_, receiver_;
  std::optional<base::FileIdentity> sender_identity_, receiver_identity_;
};

}  // namespace watch
