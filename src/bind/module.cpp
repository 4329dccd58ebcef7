// jumper._native: the border to Python. python/jumper/_native.pyi is its contract. The GIL is
// released wherever the core works.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>

#include "base/error.hpp"
#include "bind/bodiless.hpp"
#include "bind/channel.hpp"
#include "bind/engine.hpp"
#include "bind/forking.hpp"
#include "bind/groups.hpp"
#include "bind/monitors.hpp"
#include "bind/numbers.hpp"
#include "bind/pickling.hpp"
#include "bind/report.hpp"
#include "bind/session.hpp"
#include "bind/snapshot.hpp"
#include "bind/stacks.hpp"
#include "bind/table.hpp"
#include "bind/transfer.hpp"
#include "bind/words.hpp"
#include "store/earlier.hpp"
#include "store/reduction.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using bind::path_bytes;
using bind::path_object;
using bind::text;

namespace {

PyObject* error_type = nullptr;  // jumper.Error

// jumper.Error is an OSError with its errno, but its text is our whole sentence.
void translate(const std::exception_ptr& pointer, void* /*payload*/) {
  try {
    std::rethrow_exception(pointer);
  } catch (const base::Error& error) {
    const nb::object text = nb::steal(PyUnicode_DecodeUTF8(
        error.what(), static_cast<Py_ssize_t>(std::string_view(error.what()).size()), "replace"));
    const nb::object value = nb::steal(PyObject_CallOneArg(error_type, text.ptr()));
    if (!value.is_valid()) return;
    if (error.code() != 0) value.attr("errno") = error.code();
    PyErr_SetObject(error_type, value.ptr());
  }
}

// The process's environment, as putenv() and os.environ have it.
nb::dict environment(const std::vector<std::string>& prefixes) {
  nb::dict found;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view line(*entry);
    const std::size_t equals = line.find('=');
    const auto starts = [&](const std::string& prefix) { return line.starts_with(prefix); };
    if (equals == std::string_view::npos || std::ranges::none_of(prefixes, starts)) continue;
    const nb::object name =
        nb::steal(PyUnicode_DecodeFSDefaultAndSize(line.data(), static_cast<Py_ssize_t>(equals)));
    const nb::object value = nb::steal(PyUnicode_DecodeFSDefault(line.data() + equals + 1));
    if (!name.is_valid() || !value.is_valid()) throw nb::python_error();
    found[name] = value;
  }
  return found;
}

record::Outcome outcome_from(const std::string& word) {
  if (word == "ok") return record::Outcome::kOk;
  if (word == "error") return record::Outcome::kError;
  if (word == "interrupted") return record::Outcome::kInterrupted;
  throw std::invalid_argument("outcome '" + word + "' is not one of ok, error, interrupted");
}

[[noreturn]] void no_such_cell(std::int64_t index) {
  throw nb::key_error(("no cell #" + std::to_string(index)).c_str());
}

std::unique_ptr<bind::Session> make_session(const nb::str& program, const std::string& label,
                                            double rate_hz, const std::optional<nb::str>& directory,
                                            bool process_level, bool node_level,
                                            std::int64_t most_bytes, std::int64_t keep_days,
                                            std::int64_t keep_bytes) {
  const std::string place = directory ? path_bytes(*directory) : "";
  watch::WatchOptions options{path_bytes(program), label,      rate_hz,
                              process_level,       node_level, most_bytes,
                              keep_days,           keep_bytes, bind::stacks_reader()};
  const nb::gil_scoped_release released;
  return std::make_unique<bind::Session>(std::move(options), place);
}

std::int64_t begin_cell(bind::Session& session, const nb::bytes& source,
                        std::optional<std::int64_t> execution_count) {
  const std::string_view view(source.c_str(), source.size());
  const nb::gil_scoped_release released;
  return session.watch().begin(view, execution_count);
}

using EngineSeconds = std::array<std::optional<double>, 3>;

record::Value nanoseconds(std::optional<double> value_s) {
  constexpr double kMost_s = 9e9;  // false for NaN, too
  const bool is_time = value_s && *value_s >= 0 && *value_s < kMost_s;
  return is_time ? static_cast<record::Value>(*value_s * 1e9)
                 : record::unknown(record::State::kNotSupported);
}

record::EngineTimes engine_times(const std::optional<EngineSeconds>& engine) {
  if (!engine) return {};
  return {nanoseconds((*engine)[0]), nanoseconds((*engine)[1]), nanoseconds((*engine)[2])};
}

void end_cell(bind::Session& session, std::int64_t index, const std::string& outcome,
              std::optional<std::int64_t> execution_count,
              const std::optional<EngineSeconds>& engine) {
  session.watch().end(index, outcome_from(outcome), execution_count, engine_times(engine));
}

// With the GIL held; the work is done without it.
store::CellSummary known_summary(bind::Session& session, std::int64_t index) {
  std::optional<store::CellSummary> summary;
  {
    const nb::gil_scoped_release released;
    summary = session.summary(index);
  }
  if (!summary) no_such_cell(index);
  return std::move(*summary);
}

bind::Rendered summary_of(bind::Session& session, std::int64_t index, const std::string& level) {
  const std::string checked = bind::checked_level(level);
  return bind::render(known_summary(session, index), checked);
}

template <typename Recorded>
bind::Rendered group_summary_of(Recorded& recorded, std::int64_t index, const std::string& level) {
  const std::string checked = bind::checked_level(level);
  std::optional<store::CellSummary> summary;
  {
    const nb::gil_scoped_release released;
    summary = recorded.group_summary(index);
  }
  if (!summary) throw nb::key_error(("no cell in group g" + std::to_string(index)).c_str());
  return bind::render(*summary, checked);
}

bind::Table table_of(bind::Session& session, const std::vector<std::int64_t>& indices,
                     const std::string& level) {
  bind::checked_level(level);
  std::optional<bind::Table> table;
  {
    const nb::gil_scoped_release released;
    session.with_cells(
        indices, [&](const auto& recording, const auto& groups, const auto& cells, auto sources) {
          table = bind::make_table(recording, groups, cells, std::move(sources), level);
        });
  }
  if (!table) throw nb::key_error("no such cell");
  return std::move(*table);
}

std::int64_t checked_cell(const bind::Report& report, std::int64_t index) {
  if (!report.has(index)) no_such_cell(index);
  return index;
}

bind::Table table_of_report(const bind::Report& report, const std::vector<std::int64_t>& indices,
                            const std::string& level) {
  bind::checked_level(level);
  std::vector<store::Cell> cells;
  std::vector<std::string> sources;
  for (const std::int64_t index : indices) {
    cells.push_back(*report.recording().cell(checked_cell(report, index)));
    sources.push_back(report.code(index));
  }
  const nb::gil_scoped_release released;
  return bind::make_table(report.recording(), report.recording().groups(), cells,
                          std::move(sources), level);
}

nb::list earlier(const nb::str& directory, const std::string& label, const nb::str& own_path,
                 std::int64_t not_before_wall_ns) {
  const std::string place = path_bytes(directory);
  const std::string own = path_bytes(own_path);
  std::vector<std::string> found;
  {
    const nb::gil_scoped_release released;
    found = store::earlier_recordings(place, label, own, not_before_wall_ns);
  }
  nb::list paths;
  for (const std::string& path : found) paths.append(path_object(path));
  return paths;
}

// level: "" is the one that there is.
store::PlotRequest plot_request(std::vector<std::int64_t> cells, const std::string& level,
                                std::vector<std::string> metrics, std::size_t most_buckets,
                                std::optional<bool> cut,
                                const std::optional<std::pair<double, double>>& window,
                                const std::string& group) {
  constexpr std::size_t kMostBuckets = 1U << 16;
  store::PlotRequest request;
  request.cells = std::move(cells);
  request.level = level;
  request.group = group;
  request.metrics = std::move(metrics);
  request.most_buckets = std::clamp<std::size_t>(most_buckets, 1, kMostBuckets);
  request.cut_between_cells = cut;
  if (window) request.window = {window->first, window->second};
  return request;
}

template <typename Recorded>
bind::Plot plot_of(Recorded& recorded, std::vector<std::int64_t> cells, const std::string& level,
                   std::vector<std::string> metrics, std::size_t most_buckets,
                   std::optional<bool> cut, const std::optional<std::pair<double, double>>& window,
                   const std::string& group) {
  const store::PlotRequest request =
      plot_request(std::move(cells), level, std::move(metrics), most_buckets, cut, window, group);
  const nb::gil_scoped_release released;
  return recorded.plot(request);
}

template <typename Number>
using Array = nb::ndarray<const Number, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
struct Reduction {
  Array<std::int64_t> times;
  Array<double> values;
  store::Reduction reduction;
};

std::unique_ptr<Reduction> make_reduction(Array<std::int64_t> times, Array<double> values,
                                          std::int64_t longest_ns) {
  if (times.size() != values.size()) throw std::invalid_argument("a time for each value is needed");
  const std::span time_span(times.data(), times.size());
  const std::span value_span(values.data(), values.size());
  const nb::gil_scoped_release released;
  store::Reduction reduction(time_span, value_span, longest_ns);
  return std::make_unique<Reduction>(
      Reduction{std::move(times), std::move(values), std::move(reduction)});
}

nb::list reduce(const Reduction& self, std::int64_t begin_ns, std::int64_t end_ns,
                std::size_t buckets) {
  nb::list out;
  for (const store::Reduced& one : self.reduction.reduce(begin_ns, end_ns, buckets)) {
    out.append(nb::make_tuple(one.min, one.max, one.first, one.last, one.mean));
  }
  return out;
}

nb::bytes as_bytes(const std::string& value) { return nb::bytes(value.data(), value.size()); }

}  // namespace

NB_MODULE(_native, module) {  // NOLINT(performance-unnecessary-value-param): nanobind's macro
  using Released = nb::call_guard<nb::gil_scoped_release>;
  module.attr("__version__") = JUMPER_VERSION;

  error_type = PyErr_NewExceptionWithDoc("jumper.Error",
                                         "What was tried, on what, why it failed, what to do.",
                                         PyExc_OSError, nullptr);
  module.attr("Error") = nb::borrow(error_type);
  nb::register_exception_translator(translate);

  nb::class_<bind::Rendered>(module, "Rendered")
      .def_prop_ro("text", [](const bind::Rendered& self) { return text(self.text); })
      .def_prop_ro("html", [](const bind::Rendered& self) { return text(self.html); })
      .def_prop_ro("json", [](const bind::Rendered& self) { return text(self.json); });

  nb::class_<bind::History, bind::Rendered>(module, "History")
      .def_prop_ro("page", [](const bind::History& self) { return text(self.page); });

  nb::class_<bind::Plot>(module, "Plot")
      .def_prop_ro("text", [](const bind::Plot& self) { return text(self.text); })
      .def_prop_ro("svg", [](const bind::Plot& self) { return text(self.svg); })
      .def_prop_ro("json", [](const bind::Plot& self) { return text(self.json); });

  nb::class_<Reduction>(module, "Reduction")
      .def(nb::new_(&make_reduction), "times_ns"_a, "values"_a,
           "longest_ns"_a = std::numeric_limits<std::int64_t>::max())
      .def("reduce", &reduce, "begin_ns"_a, "end_ns"_a, "buckets"_a);

  nb::class_<bind::CellInfo>(module, "CellInfo")
      .def_ro("index", &bind::CellInfo::index)
      .def_ro("execution_count", &bind::CellInfo::execution_count)
      .def_ro("begin_wall_ns", &bind::CellInfo::begin_wall_ns)
      .def_ro("duration_s", &bind::CellInfo::duration_s)
      .def_ro("outcome", &bind::CellInfo::outcome)
      .def_ro("running", &bind::CellInfo::running)
      .def_ro("group", &bind::CellInfo::group)
      .def_prop_ro("group_name", [](const bind::CellInfo& self) { return text(self.group_name); });

  nb::class_<bind::Status>(module, "Status")
      .def_prop_ro("path",
                   [](const bind::Status& self) {
                     return self.path ? path_object(*self.path) : nb::object(nb::none());
                   })
      .def_prop_ro("where", [](const bind::Status& self) { return text(self.where); })
      .def_ro("size_bytes", &bind::Status::size_bytes)
      .def_ro("rate_hz", &bind::Status::rate_hz)
      .def_ro("levels", &bind::Status::levels)
      .def_ro("sampler_pid", &bind::Status::sampler_pid)
      .def_ro("sampler_restarts", &bind::Status::sampler_restarts)
      .def_ro("lost", &bind::Status::lost)
      .def_ro("sampler_cpu_percent", &bind::Status::sampler_cpu_percent)
      .def_ro("cells", &bind::Status::cells)
      .def_ro("keep_days", &bind::Status::keep_days)
      .def_ro("keep_bytes", &bind::Status::keep_bytes)
      .def_ro("kept", &bind::Status::kept)
      .def_ro("kept_bytes", &bind::Status::kept_bytes)
      .def_ro("gaps", &bind::Status::gaps)
      .def_ro("missing", &bind::Status::missing);

  nb::class_<record::Consumer>(module, "Consumer")
      .def_ro("pid", &record::Consumer::pid)
      .def_prop_ro("name", [](const record::Consumer& self) { return text(self.name); })
      .def_ro("memory_bytes", &record::Consumer::memory_bytes);
  bind::add_table(module);

  nb::class_<record::NearLimit>(module, "NearLimit")
      .def_prop_ro("source", [](const record::NearLimit& self) { return text(self.source); })
      .def_ro("memory_bytes", &record::NearLimit::memory_bytes)
      .def_ro("limit_bytes", &record::NearLimit::limit_bytes)
      .def_ro("largest", &record::NearLimit::largest);

  nb::class_<bind::Session>(module, "Session")
      .def(nb::new_(&make_session), nb::kw_only(), "program"_a, "label"_a, "rate_hz"_a,
           "directory"_a = nb::none(), "process_level"_a = true, "node_level"_a = true,
           "most_bytes"_a = 0, "keep_days"_a = -1, "keep_bytes"_a = -1)
      .def("begin", &begin_cell, "source"_a, "execution_count"_a = nb::none())
      .def("end", &end_cell, "index"_a, "outcome"_a, "execution_count"_a = nb::none(),
           "engine"_a = nb::none(), Released())
      .def(
          "wait",
          [](bind::Session& self, std::int64_t index, double timeout_s) {
            return self.watch().wait(index, static_cast<std::int64_t>(timeout_s * 1e9));
          },
          "index"_a, "timeout_s"_a = 0.05, Released())
      .def(
          "flush",
          [](bind::Session& self, double timeout_s) {
            return self.watch().flush(static_cast<std::int64_t>(timeout_s * 1e9));
          },
          "timeout_s"_a = 0.05, Released())
      .def(
          "begin_group",
          [](bind::Session& self, const std::string& name) {
            return self.watch().begin_group(name);
          },
          "name"_a = "", Released())
      .def(
          "end_group",
          [](bind::Session& self, bool drop, const std::optional<EngineSeconds>& engine) {
            return self.watch().end_group(drop, engine_times(engine));
          },
          nb::kw_only(), "drop"_a = false, "engine"_a = nb::none(), Released())
      .def(
          "set_rate", [](bind::Session& self, double rate_hz) { self.watch().set_rate(rate_hz); },
          "rate_hz"_a, Released())
      .def(
          "set_guard", [](bind::Session& self, double percent) { self.watch().set_guard(percent); },
          "percent"_a, Released())
      .def(
          "set_visible_devices",
          [](bind::Session& self, const std::optional<nb::str>& list) {
            std::optional<std::string> bytes;
            if (list) bytes = path_bytes(*list);
            const nb::gil_scoped_release released;
            self.watch().set_visible_devices(std::move(bytes));
          },
          "devices"_a.none())
      .def(
          "set_apart",
          [](bind::Session& self, int pid, bool apart) { self.watch().set_apart(pid, apart); },
          "pid"_a, nb::kw_only(), "apart"_a, Released())
      .def(
          "take_near_limit", [](bind::Session& self) { return self.watch().take_near_limit(); },
          Released())
      .def(
          "ticks",
          [](bind::Session& self, std::int64_t index) { return known_summary(self, index).ticks; },
          "index"_a)
      .def("summary", &summary_of, "index"_a, "level"_a = "process")
      .def("group_summary", &group_summary_of<bind::Session>, "index"_a, "level"_a = "process")
      .def("history", &bind::Session::history, Released())
      .def("plot", &plot_of<bind::Session>, "cells"_a = nb::make_tuple(), nb::kw_only(),
           "level"_a = "process", "metrics"_a = nb::make_tuple(), "most_buckets"_a = 600,
           "cut"_a = nb::none(), "window"_a = nb::none(), "group"_a = "")
      .def("cells", &bind::Session::cells, Released())
      .def(
          "code",
          [](bind::Session& self, std::int64_t index) {
            const auto code = self.code(index);
            if (!code) no_such_cell(index);
            return as_bytes(*code);
          },
          "index"_a)
      .def("table", &table_of, "indices"_a, "level"_a = "process")
      .def("totals", &bind::Session::totals, Released())
      .def("save", &bind::Session::save, "fd"_a, Released())
      .def("status", &bind::Session::status, Released())
      .def(
          "take_warnings", [](bind::Session& self) { return self.watch().take_warnings(); },
          Released())
      .def(
          "close",
          [](bind::Session& self, const std::string& reason) { self.watch().close(reason); },
          "reason"_a = "", Released());

  module.def("plot_metrics", &bind::plot_metrics);
  module.def("environment", &environment, "prefixes"_a);
  module.def("stacks", [] {
    const auto read = bind::stacks_reader();
    const nb::gil_scoped_release released;
    return read();
  });

  module.def("earlier", &earlier, "directory"_a, "label"_a, "own_path"_a, "not_before_wall_ns"_a);
  module.def(
      "ended_quietly",
      [](const nb::str& path) {
        const std::string bytes = path_bytes(path);
        const nb::gil_scoped_release released;
        return store::ended_quietly(bytes);
      },
      "path"_a);
  module.def(
      "mark_told", [](const nb::str& path) { return store::mark_told(path_bytes(path)); },
      "path"_a);

  bind::add_transfer(module);
  bind::add_channel(module);
  bind::add_engine(module);
  bind::add_snapshot(module);
  bind::add_numbers(module);
  bind::add_groups(module);
  bind::add_forking(module);
  bind::add_pickling(module);
  bind::add_bodiless(module);
  bind::add_monitors(module);

  nb::class_<bind::Ending>(module, "Ending")
      .def_ro("kind", &bind::Ending::kind)
      .def_prop_ro("text", [](const bind::Ending& self) { return text(self.text); })
      .def_prop_ro("curve", [](const bind::Ending& self) { return text(self.curve); })
      .def_ro("wall_ns", &bind::Ending::wall_ns)
      .def_ro("cell", &bind::Ending::cell);

  nb::class_<bind::Report>(module, "Report")
      .def_static(
          "open",
          [](const nb::str& path) {
            const std::string bytes = path_bytes(path);
            const nb::gil_scoped_release released;
            return std::make_unique<bind::Report>(bytes);
          },
          "path"_a)
      .def(
          "summary",
          [](const bind::Report& self, std::int64_t index, const std::string& level) {
            return self.summary(checked_cell(self, index), bind::checked_level(level));
          },
          "index"_a, "level"_a = "process")
      .def("group_summary", &group_summary_of<const bind::Report>, "index"_a, "level"_a = "process")
      .def("history", &bind::Report::history, Released())
      .def("plot", &plot_of<const bind::Report>, "cells"_a = nb::make_tuple(), nb::kw_only(),
           "level"_a = "process", "metrics"_a = nb::make_tuple(), "most_buckets"_a = 600,
           "cut"_a = nb::none(), "window"_a = nb::none(), "group"_a = "")
      .def("cells", &bind::Report::cells, Released())
      .def("table", &table_of_report, "indices"_a, "level"_a = "process")
      .def("totals", &bind::Report::totals, Released())
      .def("ending", &bind::Report::ending, Released())
      .def("told", &bind::Report::told)
      .def("label", [](const bind::Report& self) { return text(self.label()); })
      .def(
          "code",
          [](const bind::Report& self, std::int64_t index) {
            return as_bytes(self.code(checked_cell(self, index)));
          },
          "index"_a);
}
