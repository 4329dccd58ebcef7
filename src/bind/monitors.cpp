#include "bind/monitors.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind/session.hpp"
#include "bind/words.hpp"
#include "watch/custom_monitors.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace bind {
namespace {

const char* word(watch::MonitorInfo::State state) noexcept {
  switch (state) {
    case watch::MonitorInfo::State::kMeasures:
      return "measures";
    case watch::MonitorInfo::State::kCutOff:
      return "cut off";
    case watch::MonitorInfo::State::kBegins:
      break;
  }
  return "begins";
}

void add(Session& session, const std::string& name, const std::vector<nb::bytes>& command,
         const std::string& about, const nb::bytes& directory, const nb::bytes& payload,
         double rate_hz) {
  const auto bytes_of = [](const nb::bytes& one) { return std::string(one.c_str(), one.size()); };
  watch::MonitorSpec spec;
  spec.name = name;
  spec.about = about;
  for (const nb::bytes& one : command) spec.command.push_back(bytes_of(one));
  spec.directory = bytes_of(directory);
  spec.payload = bytes_of(payload);
  spec.rate_hz = rate_hz;
  const nb::gil_scoped_release released;
  session.watch().add_monitor(std::move(spec));
}

}  // namespace

void add_monitors(nb::module_& module) {
  nb::class_<watch::MonitorInfo>(module, "MonitorInfo")
      .def_ro("name", &watch::MonitorInfo::name)
      .def_ro("about", &watch::MonitorInfo::about)
      .def_ro("rate_hz", &watch::MonitorInfo::rate_hz)
      .def_prop_ro("state", [](const watch::MonitorInfo& self) { return word(self.state); })
      .def_prop_ro("reason", [](const watch::MonitorInfo& self) { return text(self.reason); });
  module.def("add_monitor", &add, "session"_a, "name"_a, nb::kw_only(), "command"_a, "about"_a,
             "directory"_a, "payload"_a, "rate_hz"_a);
  module.def(
      "remove_monitor",
      [](Session& session, const std::string& name) {
        return session.watch().remove_monitor(name);
      },
      "session"_a, "name"_a, nb::call_guard<nb::gil_scoped_release>());
  module.def(
      "monitors", [](Session& session) { return session.watch().monitors(); }, "session"_a,
      nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace bind
