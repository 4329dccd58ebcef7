#pragma once
// SIGUSR1 to the sampler asks for the stacks of the kernel's threads (docs/formats.md); they come
// back as one Stacks within a second or so. One object in a process.

#include <csignal>
#include <cstdint>

namespace tools {

class StackRequests {
 public:
  // Takes SIGUSR1 over. It is blocked, in this thread and those that it starts, but for the wait
  // in which it may come: so none is missed before a wait, and a flood interrupts nothing.
  StackRequests();

  [[nodiscard]] bool has_request() const noexcept;
  // For ppoll(2): the signal may come in, unless a request waits already.
  [[nodiscard]] const sigset_t* mask_to_wait_with() const noexcept;
  // When send() is due at the earliest, if there is a request: four a second at most are served.
  [[nodiscard]] std::int64_t next_ns() const noexcept { return next_ns_; }
  // Passes a request on to the kernel.
  void send(int socket_fd, std::int64_t now_ns);
  // The answer to the request that was passed on. False: nobody has asked for it.
  bool take_answer(std::int64_t now_ns) noexcept;

 private:
  sigset_t busy_mask_{};
  sigset_t listening_mask_{};
  std::int64_t next_ns_ = 0;
  bool awaits_ = false;
};

}  // namespace tools
