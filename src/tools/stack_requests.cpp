#include "tools/stack_requests.hpp"

#include <string>
#include <utility>

#include "base/socket.hpp"
#include "record/marks.hpp"

namespace tools {
namespace {

constexpr std::int64_t kLeastNsBetween = 250'000'000;
constexpr std::int64_t kMostNsForAnswer = 5'000'000'000;

volatile std::sig_atomic_t requested = 0;

}  // namespace

StackRequests::StackRequests() {
  sigset_t request;
  sigemptyset(&request);
  sigaddset(&request, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &request, &listening_mask_);
  busy_mask_ = listening_mask_;
  sigaddset(&busy_mask_, SIGUSR1);
  sigdelset(&listening_mask_, SIGUSR1);
  struct sigaction action{};
  action.sa_handler = [](int) { requested = 1; };
  ::sigaction(SIGUSR1, &action, nullptr);
}

bool StackRequests::has_request() const noexcept { return requested != 0; }

const sigset_t* StackRequests::mask_to_wait_with() const noexcept {
  return has_request() ? &busy_mask_ : &listening_mask_;
}

void StackRequests::send(int socket_fd, std::int64_t now_ns) {
  if (!has_request() || now_ns < next_ns_) return;
  requested = 0;
  // The answer under way is this one's too, unless the kernel is stopped or lost the question.
  if (awaits_ && now_ns < next_ns_ + kMostNsForAnswer) return;
  next_ns_ = now_ns + kLeastNsBetween;
  std::string bytes;
  record::encode_message(record::AskStacks{}, bytes);
  if (base::send_message(socket_fd, bytes) == base::SendResult::kSent) awaits_ = true;
}

bool StackRequests::take_answer(std::int64_t now_ns) noexcept {
  if (!std::exchange(awaits_, false)) return false;
  next_ns_ = now_ns + kLeastNsBetween;
  return true;
}

}  // namespace tools
