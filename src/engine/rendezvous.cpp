#include "engine/rendezvous.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/socket.hpp"
#include "engine/deadline.hpp"

namespace engine {
namespace {

constexpr std::size_t kTokenBytes = 16;
constexpr std::size_t kTokenDigits = 2 * kTokenBytes;
constexpr std::size_t kMostCallers = 16;
constexpr std::string_view kVerb = "cannot make a meeting place for";
constexpr std::string_view kReach = "cannot reach the kernel at";

std::string random_token() {
  std::array<unsigned char, kTokenBytes> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw base::Error(kVerb, "the engine", errno);
  }
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

// In a time that doesn't tell how much of it is right.
bool same(std::string_view one, std::string_view other) noexcept {
  if (one.size() != other.size()) return false;
  unsigned differences = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    differences |= static_cast<unsigned char>(one[i]) ^
                   static_cast<unsigned>(static_cast<unsigned char>(other[i]));
  }
  return differences == 0;
}

// This user's own directory, no link, which nobody else may write to.
bool is_private(const std::string& directory) noexcept {
  struct stat status{};
  return ::lstat(directory.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && value[0] == '/' ? value : "";
}

std::optional<sockaddr_un> address_of(const std::string& path) noexcept {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return std::nullopt;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

// The other side's process when it is of this user.
std::optional<pid_t> own_peer(int fd) noexcept {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return std::nullopt;
  return peer.uid == ::geteuid() ? std::optional(peer.pid) : std::nullopt;
}

}  // namespace

Rendezvous::Rendezvous() : token_(random_token()) {
  const std::string runtime = variable("XDG_RUNTIME_DIR");
  if (!runtime.empty() && is_private(runtime) && make(runtime)) return;
  const std::string temporary = variable("TMPDIR");
  if (!temporary.empty() && make(temporary)) return;
  if (!make("/tmp")) throw base::Error(kVerb, "the engine", errno, "set TMPDIR to a short path");
}

// False with errno set, and nothing left behind.
bool Rendezvous::make(const std::string& parent) {
  directory_ = parent + "/jumper-XXXXXX";
  if (::mkdtemp(directory_.data()) == nullptr) {  // 0700
    directory_.clear();
    return false;
  }
  path_ = directory_ + "/engine";
  const auto address = address_of(path_);
  int error = ENAMETOOLONG;
  if (address && is_private(directory_)) {
    listening_ = base::File(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const auto* place = reinterpret_cast<const sockaddr*>(&*address);
    if (::bind(listening_.fd(), place, sizeof *address) == 0 &&
        ::listen(listening_.fd(), static_cast<int>(kMostCallers)) == 0) {
      return true;
    }
    error = errno;
  }
  remove();
  errno = error;
  return false;
}

void Rendezvous::remove() noexcept {
  callers_.clear();
  listening_.close();
  if (directory_.empty() || ::getpid() != maker_) return;
  ::unlink(path_.c_str());
  ::rmdir(directory_.c_str());
  directory_.clear();
}

Meeting Rendezvous::accept(std::int64_t deadline_ns, std::span<const int> wakes,
                           std::size_t most_payload) {
  using Status = Meeting::Status;
  std::vector<pollfd> entries;
  for (;;) {
    if (!listening_.valid()) return {.status = Status::kFailed};
    entries.assign(1, {listening_.fd(), POLLIN, 0});
    for (const int wake : wakes) entries.push_back({wake, POLLIN, 0});
    for (const auto& caller : callers_) entries.push_back({caller.socket.fd(), POLLIN, 0});
    const int ready =
        ::poll(entries.data(), static_cast<nfds_t>(entries.size()), poll_ms(deadline_ns));
    if (ready <= 0) {
      if (base::monotonic_ns() >= deadline_ns) return {};
      continue;
    }
    // From the last one, so that the numbers of those before it stay.
    for (std::size_t i = callers_.size(); i-- > 0;) {
      if (entries[1 + wakes.size() + i].revents == 0) continue;
      Caller caller = std::move(callers_[i]);
      callers_.erase(callers_.begin() + static_cast<std::ptrdiff_t>(i));
      if (!knows_token(caller)) {
        ++strangers_;
        continue;
      }
      remove();
      return {Status::kMet, Channel(std::move(caller.socket), most_payload), caller.pid};
    }
    if ((entries[0].revents & ~POLLIN) != 0) return {.status = Status::kFailed};
    if (entries[0].revents != 0) admit();
    for (std::size_t i = 0; i < wakes.size(); ++i) {
      if (entries[1 + i].revents != 0) return {.status = Status::kWoken};
    }
  }
}

// Lets one in to speak. When too many are silent the one who came first has had its time.
void Rendezvous::admit() {
  constexpr int kFlags = SOCK_CLOEXEC | SOCK_NONBLOCK;
  base::File socket(::accept4(listening_.fd(), nullptr, nullptr, kFlags));
  if (!socket.valid()) {
    const bool nobody = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
    if (!nobody) listening_.close();
    return;
  }
  const auto pid = own_peer(socket.fd());
  if (!pid) {
    ++strangers_;
    return;
  }
  if (callers_.size() == kMostCallers) {
    ++strangers_;
    callers_.erase(callers_.begin());
  }
  callers_.push_back({std::move(socket), *pid});
}

bool Rendezvous::knows_token(const Caller& caller) const {
  std::array<char, kTokenDigits + 1> buffer{};
  const base::Received received = base::receive_message(caller.socket.fd(), buffer);
  return received.status == base::Received::Status::kMessage &&
         same({buffer.data(), received.size}, token_);
}

Meeting connect(const std::string& path, std::string_view token, std::size_t most_payload) {
  const auto address = address_of(path);
  if (!address) throw base::Error(kReach, path, ENAMETOOLONG);
  base::File socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const auto* place = reinterpret_cast<const sockaddr*>(&*address);
  // A signal while it waits: on a Unix socket the same call may be made again.
  int failed = -1;
  do {
    failed = ::connect(socket.fd(), place, sizeof *address);
  } while (failed != 0 && errno == EINTR);
  if (failed != 0) {
    throw base::Error(kReach, path, errno, "engine and kernel have to be on one machine");
  }
  const auto peer = own_peer(socket.fd());
  if (!peer) throw base::Error(kReach, path, "another user listens there");
  if (base::send_message(socket.fd(), token) != base::SendResult::kSent) {
    throw base::Error(kReach, path, "nobody listens any more");
  }
  return {Meeting::Status::kMet, Channel(std::move(socket), most_payload), *peer};
}

}  // namespace engine
