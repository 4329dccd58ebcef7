#include "bind/channel.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "bind/waiting.hpp"
#include "bind/words.hpp"
#include "engine/channel.hpp"
#include "engine/rendezvous.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace bind {
namespace {

constexpr std::size_t kMostWakes = 32;
constexpr std::string_view kCannotSend = "cannot send a message";

// Whoever sends or receives holds it on, so that close() in another thread takes no descriptor away
// from under a system call.
struct Shared {
  engine::Channel channel;
  std::mutex receiving;
};

struct Channel {
  std::shared_ptr<Shared> shared;  // empty: closed
};

std::unique_ptr<Channel> wrap(engine::Channel channel) {
  auto shared = std::make_shared<Shared>();
  shared->channel = std::move(channel);
  return std::make_unique<Channel>(Channel{std::move(shared)});
}

struct Received {
  const char* status = "";
  std::uint32_t kind = 0;
  nb::bytes payload = nb::bytes("", 0);
  int descriptor = -1;
  std::uint32_t woken = 0;
  const char* reason = "";
};

Received closed_here() {
  Received received;
  received.status = "closed";
  received.reason = "it was closed here";
  return received;
}

const char* word_of(engine::Reception::Status status) {
  using enum engine::Reception::Status;
  switch (status) {
    case kMessage:
      return "message";
    case kTimeout:
      return "timeout";
    case kWoken:
      return "woken";
    case kClosed:
      return "closed";
    case kMalformed:
      break;
  }
  return "malformed";
}

const char* word_of(engine::Meeting::Status status) {
  using enum engine::Meeting::Status;
  switch (status) {
    case kMet:
      return "met";
    case kTimeout:
      return "timeout";
    case kWoken:
      return "woken";
    case kFailed:
      break;
  }
  return "failed";
}

void check(const std::vector<int>& wakes) {
  if (wakes.size() > kMostWakes) throw std::invalid_argument("more than 32 wakes");
}

// Any C-contiguous buffer, for as long as it is sent.
class Exported {
 public:
  explicit Exported(nb::handle buffer) {
    if (PyObject_GetBuffer(buffer.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  Exported(const Exported&) = delete;
  Exported& operator=(const Exported&) = delete;
  ~Exported() { PyBuffer_Release(&view_); }

  [[nodiscard]] std::string_view bytes() const {
    return {static_cast<const char*>(view_.buf), static_cast<std::size_t>(view_.len)};
  }

 private:
  Py_buffer view_{};
};

// In slices; a payload that is sent beside the message is copied again after each, so between them
// this waits until the other end has taken most of what is under way.
void send(Channel& self, std::uint32_t kind, nb::handle payload, std::optional<double> timeout_s,
          int descriptor) {
  const auto shared = self.shared;
  if (!shared) throw base::Error(kCannotSend, "", EBADF);
  const std::int64_t deadline_ns = deadline_after(timeout_s);
  const Exported exported(payload);
  for (;;) {
    engine::Sent sent = engine::Sent::kTimeout;
    int code = ETIMEDOUT;
    {
      const nb::gil_scoped_release released;
      sent = shared->channel.send(kind, exported.bytes(), slice_until(deadline_ns), descriptor);
      if (sent == engine::Sent::kFailed) code = errno;
    }
    if (sent == engine::Sent::kSent) return;
    if (sent == engine::Sent::kClosed) code = EPIPE;
    run_signal_handlers();
    pollfd entry{shared->channel.fd(), POLLOUT, 0};
    if (sent != engine::Sent::kTimeout || !wait_ready({&entry, 1}, deadline_ns)) {
      throw base::Error(kCannotSend, "", code);
    }
  }
}

// A large payload is copied without the GIL: nobody else knows these bytes yet.
nb::bytes bytes_of(const std::string& payload) {
  constexpr std::size_t kLargeBytes = 1U << 20;
  if (payload.size() < kLargeBytes) return nb::bytes(payload.data(), payload.size());
  const nb::object made =
      nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(payload.size())));
  if (!made.is_valid()) throw nb::python_error();
  char* to = PyBytes_AS_STRING(made.ptr());
  const nb::gil_scoped_release released;
  std::ranges::copy(payload, to);
  return nb::borrow<nb::bytes>(made);
}

Received receive(Channel& self, std::optional<double> timeout_s, const std::vector<int>& wakes) {
  check(wakes);
  const std::int64_t deadline_ns = deadline_after(timeout_s);
  for (;;) {
    const auto shared = self.shared;
    if (!shared) return closed_here();
    std::vector<pollfd> entries(1, {shared->channel.fd(), POLLIN, 0});
    for (const int wake : wakes) entries.push_back({wake, POLLIN, 0});
    wait_ready(entries, slice_until(deadline_ns));
    engine::Reception got;
    {
      const nb::gil_scoped_release released;
      const std::lock_guard lock(shared->receiving);
      got = shared->channel.receive(0, wakes);
    }
    using Status = engine::Reception::Status;
    // Ready and yet nothing there: another thread or process took it.
    if (got.status == Status::kTimeout && base::monotonic_ns() < deadline_ns) continue;
    Received received{.status = word_of(got.status),
                      .kind = got.message.kind,
                      .payload = bytes_of(got.message.payload),
                      .woken = got.woken,
                      .reason = got.reason};
    received.descriptor = got.message.descriptor.release();
    return received;
  }
}

nb::tuple pair() {
  auto [ours, theirs] = engine::make_channel();
  nb::object channel = nb::cast(wrap(std::move(ours)));
  return nb::make_tuple(channel, theirs.release());
}

// One thread at a time meets; another one waits for its turn.
struct Rendezvous {
  engine::Rendezvous place;
  std::mutex meeting;
};

nb::tuple accept(Rendezvous& self, std::optional<double> timeout_s, const std::vector<int>& wakes) {
  check(wakes);
  const std::int64_t deadline_ns = deadline_after(timeout_s);
  for (;;) {
    engine::Meeting met;
    {
      const nb::gil_scoped_release released;
      const std::lock_guard lock(self.meeting);
      met = self.place.accept(slice_until(deadline_ns), wakes);
    }
    using Status = engine::Meeting::Status;
    if (met.status == Status::kMet) {
      return nb::make_tuple("met", wrap(std::move(met.channel)), met.peer);
    }
    run_signal_handlers();
    if (met.status == Status::kTimeout && base::monotonic_ns() < deadline_ns) continue;
    return nb::make_tuple(word_of(met.status), nb::none(), -1);
  }
}

std::unique_ptr<Channel> connect(nb::handle path, const std::string& token) {
  const std::string place = argument_bytes(path);
  const nb::gil_scoped_release released;
  return wrap(engine::connect(place, token).channel);
}

}  // namespace

void add_channel(nb::module_& module) {
  nb::class_<Received>(module, "Received")
      .def_ro("status", &Received::status)
      .def_ro("kind", &Received::kind)
      .def_ro("payload", &Received::payload)
      .def_ro("descriptor", &Received::descriptor)
      .def_ro("woken", &Received::woken)
      .def_ro("reason", &Received::reason);

  nb::class_<Channel>(module, "Channel")
      .def(nb::new_([](int descriptor) { return wrap(engine::Channel(base::File(descriptor))); }),
           "descriptor"_a)
      .def_static("pair", &pair)
      .def("fileno",
           [](const Channel& self) { return self.shared ? self.shared->channel.fd() : -1; })
      .def("send", &send, "kind"_a, "payload"_a, "timeout_s"_a = nb::none(), "descriptor"_a = -1)
      .def("receive", &receive, "timeout_s"_a = nb::none(), "wakes"_a = nb::make_tuple())
      .def("close", [](Channel& self) { self.shared.reset(); });

  nb::class_<Rendezvous>(module, "Rendezvous")
      .def(nb::init<>())
      .def_prop_ro("path", [](const Rendezvous& self) { return path_object(self.place.path()); })
      .def_prop_ro("token", [](const Rendezvous& self) { return self.place.token(); })
      .def("accept", &accept, "timeout_s"_a = nb::none(), "wakes"_a = nb::make_tuple());

  module.def("connect", &connect, "path"_a, "token"_a);
}

}  // namespace bind
