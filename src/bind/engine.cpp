#include "bind/engine.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "bind/waiting.hpp"
#include "bind/words.hpp"
#include "engine/launch.hpp"
#include "engine/process.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace bind {
namespace {

// Looked at and signalled with the GIL held (that is quick); waited for and ended without.
struct Process {
  explicit Process(engine::Process running) : process(std::move(running)) {}
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() { end_without_gil(process); }

  engine::Process process;
};

std::vector<std::string> words_of(const nb::iterable& words) {
  std::vector<std::string> found;
  for (const nb::handle word : words) found.push_back(argument_bytes(word));
  return found;
}

std::vector<std::string> entries_of(nb::handle environment) {
  std::vector<std::string> entries;
  for (const nb::handle item : environment.attr("items")()) {
    const std::string name = argument_bytes(item[0]);
    if (name.empty() || name.find('=') != std::string::npos) {
      throw std::invalid_argument("a variable's name is empty or has '=' in it");
    }
    entries.push_back(name + "=" + argument_bytes(item[1]));
  }
  return entries;
}

std::unique_ptr<Process> start(const nb::iterable& command, nb::handle environment,
                               nb::handle directory, int channel) {
  const engine::Process::Start start{.command = words_of(command),
                                     .environment = entries_of(environment),
                                     .directory = argument_bytes(directory),
                                     .channel_fd = channel};
  if (start.command.empty()) throw std::invalid_argument("there is no command");
  const nb::gil_scoped_release released;
  return std::make_unique<Process>(engine::Process::start(start));
}

std::optional<engine::Ended> wait(Process& self, std::optional<double> timeout_s) {
  constexpr std::int64_t kLookEvery_ns = 10'000'000;  // without a pidfd nothing wakes us
  const std::int64_t deadline_ns = deadline_after(timeout_s);
  for (;;) {
    const auto ended = self.process.wait(0);
    if (ended || self.process.pid() < 0) return ended;
    const std::int64_t now_ns = base::monotonic_ns();
    if (now_ns >= deadline_ns) return std::nullopt;
    const int pidfd = self.process.pidfd();
    pollfd entry{pidfd, POLLIN, 0};
    wait_ready({&entry, 1}, pidfd >= 0 ? slice_until(deadline_ns)
                                       : std::min(deadline_ns, now_ns + kLookEvery_ns));
  }
}

// What is there, 64 KiB at most; None at the end.
nb::object read(int fd) {
  std::array<char, 1U << 16> buffer;  // NOLINT(*-member-init): as much as a pipe holds
  const engine::Reading reading = engine::read_available(fd, buffer);
  if (reading.status == engine::Reading::Status::kEnd) return nb::none();
  return nb::bytes(buffer.data(), reading.size);
}

const char* how(const engine::Ended& ended) {
  using enum engine::Ended::How;
  switch (ended.how) {
    case kExited:
      return "exited";
    case kKilled:
      return "killed";
    case kUnknown:
      break;
  }
  return "unknown";
}

nb::list list_of(const std::vector<std::string>& words) {
  nb::list list;
  for (const std::string& word : words) list.append(path_object(word));
  return list;
}

void add_process(nb::module_& module) {
  nb::class_<engine::Ended>(module, "Ended")
      .def_prop_ro("how", &how)
      .def_ro("status", &engine::Ended::status)
      .def_ro("signal", &engine::Ended::signal)
      .def_ro("core", &engine::Ended::core)
      .def_prop_ro("text", &engine::describe);

  nb::class_<Process>(module, "EngineProcess")
      .def_static("start", &start, "command"_a, "environment"_a, "directory"_a = "",
                  "channel"_a = -1)
      .def_prop_ro("pid", [](const Process& self) { return self.process.pid(); })
      .def_prop_ro("pidfd", [](const Process& self) { return self.process.pidfd(); })
      .def_prop_ro("output_fd", [](const Process& self) { return self.process.output_fd(); })
      .def_prop_ro("errors_fd", [](const Process& self) { return self.process.errors_fd(); })
      .def("wait", &wait, "timeout_s"_a = nb::none())
      .def("interrupt", [](Process& self) { return self.process.interrupt(); })
      .def("terminate", [](Process& self) { return self.process.terminate(); })
      .def("kill", [](Process& self) { return self.process.kill(); })
      .def("finish", [](Process& self) { end_without_gil(self.process); })
      .def("read_output", [](const Process& self) { return read(self.process.output_fd()); })
      .def("read_errors", [](const Process& self) { return read(self.process.errors_fd()); });
}

}  // namespace

void add_engine(nb::module_& module) {
  add_process(module);
  module.def(
      "watch_parent", [](int descriptor) { return engine::watch_parent(base::File(descriptor)); },
      "descriptor"_a);
  module.def(
      "split_words", [](nb::handle text) { return list_of(engine::split_words(path_bytes(text))); },
      "text"_a);
  module.def(
      "launch_command",
      [](const nb::iterable& words, nb::handle python, nb::handle engine_script) {
        return list_of(engine::launch_command(words_of(words), argument_bytes(python),
                                              argument_bytes(engine_script)));
      },
      "words"_a, "python"_a, "engine_script"_a);
  module.def(
      "needs_named_channel",
      [](const nb::iterable& words) { return engine::needs_named_channel(words_of(words)); },
      "words"_a);
}

}  // namespace bind
