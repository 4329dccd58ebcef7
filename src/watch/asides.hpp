#pragma once
// Which children of this process are apart from its tree, and whether the sampler knows it.

#include <sys/types.h>

#include <functional>
#include <vector>

#include "base/socket.hpp"
#include "record/marks.hpp"

namespace watch {

// One thread at a time.
class Asides {
 public:
  // False, and nothing changes, when there is no process with this number.
  bool set(pid_t pid, bool apart);

  [[nodiscard]] bool has_unsent() const noexcept;
  // There is another sampler, or none: it has heard of nobody, and must only hear who is apart.
  void forget_sent();
  // What wasn't sent; false: the socket is full.
  bool send(const std::function<base::SendResult(const record::Message&)>& send);

 private:
  struct Aside {
    record::Apart process;
    bool sent = false;
  };
  std::vector<Aside> list_;
};

}  // namespace watch
