#include "tools/report.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "record/text.hpp"
#include "store/ending.hpp"
#include "store/group_summary.hpp"
#include "store/recording.hpp"
#include "store/summary.hpp"
#include "tools/notebook.hpp"
#include "tools/report_page.hpp"
#include "tools/verbs.hpp"
#include "view/last_curve.hpp"
#include "view/summary.hpp"
#include "view/summary_parse.hpp"

namespace tools {
namespace {

constexpr std::size_t kMostLabelBytes = 200;

void print_end(const store::Recording& recording) {
  const store::Ending ending = store::ending_of(recording);
  const std::string curve = view::last_curve(recording, ending);
  if (!curve.empty()) fmt::print("\nmemory {}", curve);
  if (!ending.text.empty()) fmt::print("\n{}\n", ending.text);
}

int report_notebook(const ReportOptions& options) {
  const NotebookSummaries found = read_notebook(options.path);
  if (found.objects.empty() && found.newer == 0) {
    throw base::Error("cannot report", options.path,
                      fmt::format("none of its {} code cells has a summary", found.code_cells),
                      "run it with the kernel JUmPER, cells of a second or more then have one; "
                      "a recording (.jumper) has all cells");
  }
  if (!options.json) {
    fmt::print("{} · {} summaries · {} code cells\n",
               record::escaped(options.path, kMostLabelBytes), found.objects.size(),
               found.code_cells);
  }
  std::size_t unread = 0;
  for (const std::string& object : found.objects) {
    const auto summary = view::parse_summary(object);
    if (!summary) {
      ++unread;
    } else if (options.json) {
      fmt::print("{}\n", object);
    } else {
      fmt::print("\n{}\n", view::summary_text(*summary, options.level));
    }
  }
  if (found.newer > 0) {
    fmt::print(stderr, "jumper: notebook '{}': {} summaries were written by a newer JUmPER\n",
               options.path, found.newer);
  }
  if (unread > 0) {
    fmt::print(stderr, "jumper: notebook '{}': {} summaries can't be read\n", options.path, unread);
  }
  return unread + found.newer > 0 ? 1 : 0;
}

int report(const ReportOptions& options) {
  if (is_notebook(options.path)) return report_notebook(options);
  const store::Recording recording = store::Recording::open(options.path);
  if (!options.json) print_header(recording);
  const auto print_summary = [&](const store::CellSummary& summary) {
    if (options.json) {
      fmt::print("{}\n", view::summary_json(summary));
    } else {
      fmt::print("\n{}\n", view::summary_text(summary, options.level));
    }
  };
  const auto& cells = recording.cells();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    print_summary(store::summarize(recording, cells[i]));
    // A group comes behind its last cell.
    if (cells[i].group == 0 || (i + 1 < cells.size() && cells[i + 1].group == cells[i].group)) {
      continue;
    }
    const auto group = std::ranges::find(recording.groups(), cells[i].group, &store::Group::index);
    const auto members = store::cells_of(cells[i].group, cells);
    print_summary(store::summarize_group(recording, *group, members));
  }
  if (!options.json) print_end(recording);
  for (const record::Damage& damage : recording.damages()) {
    fmt::print(stderr, "jumper: recording '{}': {} bytes from {} are lost: {}\n", options.path,
               damage.bytes, damage.offset, damage.what);
  }
  return recording.damages().empty() ? 0 : 1;
}

}  // namespace

void print_header(const store::Recording& recording) {
  if (!recording.machine()) return;
  const record::Machine& machine = *recording.machine();
  const std::int64_t first_ns = recording.first_sample_ns();
  fmt::print("{} · {} · {} · {} cells\n", record::escaped(machine.label, kMostLabelBytes),
             record::escaped(machine.host, kMostLabelBytes),
             base::local_time(recording.wall_ns(first_ns)), recording.cells().size());
}

void add_report(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* verb =
      program.add_subcommand("report", "what each cell of a recording or an executed notebook did");
  verb->add_option("FILE", options->path, "a recording (.jumper), or a notebook (.ipynb)")
      ->required();
  CLI::Option* json_flag =
      verb->add_flag("--json", options->json, "one JSON object a cell and line (docs/formats.md)");
  CLI::Option* follow_flag =
      verb->add_flag("--follow", options->follow, "show the running cell until the recording ends");
  verb->add_flag("--stacks", options->stacks,
                 "with --follow: ask the kernel for the Python stacks of its threads")
      ->needs(follow_flag)
      ->excludes(json_flag);
  CLI::Option* output =
      verb->add_option("-o,--output", options->output, "write a page (.html) of the whole run")
          ->excludes(json_flag)
          ->excludes(follow_flag);
  verb->add_flag("--force", options->force, "with -o: replace what is there")->needs(output);
  verb->add_option("--level", options->level, "process, user, job, node or all")
      ->transform(CLI::Transformer({{"all", ""}}))
      ->check(CLI::IsMember({"process", "user", "job", "node", ""}))
      ->capture_default_str();
  verb->callback([options, &chosen] {
    chosen = [options] {
      if (!options->output.empty()) return report_page(*options);
      return options->follow ? follow(*options) : report(*options);
    };
  });
}

}  // namespace tools
