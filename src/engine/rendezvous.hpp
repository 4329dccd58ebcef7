#pragma once
// The channel for launchers that close the descriptors they inherit (Open MPI, sudo): a Unix
// socket in a fresh private directory, for one engine of the same user that knows a token. Same
// machine only. The kernel makes a Rendezvous, the engine calls connect().

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "engine/channel.hpp"

namespace engine {

struct Meeting {
  enum class Status {
    kMet,
    kTimeout,
    kWoken,   // by a descriptor of the caller's
    kFailed,  // the socket itself doesn't work: it was removed, or accept(2) fails
  } status = Status::kTimeout;
  Channel channel = {};
  pid_t peer = -1;  // the other side's process; 0 when it is in another pid namespace
};

class Rendezvous {
 public:
  // A new directory, 0700, under $XDG_RUNTIME_DIR when that is this user's own and nobody else may
  // write to it, else under $TMPDIR or /tmp, with a listening socket in it. Throws base::Error.
  Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;
  ~Rendezvous() { remove(); }

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  // 128 random bits as 32 hexadecimal digits: for the engine's environment, never for a log.
  [[nodiscard]] const std::string& token() const noexcept { return token_; }
  // How many came who were of another user or didn't know the token.
  [[nodiscard]] std::size_t strangers() const noexcept { return strangers_; }

  // Waits for the one process of this user whose first message is the token; then the socket and
  // its directory are removed. Whoever comes and says nothing keeps nobody else waiting.
  Meeting accept(std::int64_t deadline_ns, std::span<const int> wakes = {},
                 std::size_t most_payload = kMostPayload);

 private:
  struct Caller {
    base::File socket;
    pid_t pid = -1;
  };

  bool make(const std::string& parent);
  void admit();
  bool knows_token(const Caller& caller) const;
  void remove() noexcept;

  const pid_t maker_ = ::getpid();  // a forked child removes nothing
  std::string directory_;
  std::string path_;
  std::string token_;
  base::File listening_;
  std::vector<Caller> callers_;  // who has not said anything yet
  std::size_t strangers_ = 0;
};

// The engine's side. Checks that the one who listens is this user, then says the token. Throws
// base::Error{"cannot reach the kernel at", path, …}.
Meeting connect(const std::string& path, std::string_view token,
                std::size_t most_payload = kMostPayload);

}  // namespace engine
