#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>
#include <memory>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "probe/sampler.hpp"
#include "record/text.hpp"
#include "tools/catalogue.hpp"
#include "tools/json_lines.hpp"
#include "tools/sample_loop.hpp"
#include "tools/schedule.hpp"
#include "tools/verbs.hpp"

namespace tools {
namespace {

struct SampleOptions {
  LoopOptions loop;
  long count = 0;  // 0: until the reader is gone
  bool json = false;
  bool list = false;
};

record::Rows as_rows(const record::Sample& sample) {
  return {1,
          sample.values.size(),
          {sample.time_ns},
          {sample.duration_ns},
          {sample.cpu_ns},
          {sample.flags},
          sample.values};
}

// What can be sampled here; without --pid the tree is our own.
int list_metrics(const SampleOptions& options) {
  probe::SamplerOptions what;
  what.root_pid = options.loop.root_pid > 0 ? options.loop.root_pid : ::getpid();
  what.process_level = options.loop.process_level;
  what.node_level = options.loop.node_level;
  return print_catalogue(what, options.json);
}

// Samples as text, for people and pipes: no recording, no kernel.
int print_samples(const SampleOptions& options) {
  probe::SamplerOptions what;
  what.root_pid = options.loop.root_pid;
  what.excluded_pid = ::getpid();
  what.process_level = options.loop.process_level && what.root_pid > 0;
  what.node_level = options.loop.node_level;
  probe::Sampler sampler(what);
  record::Schema schema{sampler.columns()};
  record::Sample sample;
  sample.values.resize(schema.columns.size());
  Schedule schedule(options.loop.rate_hz, base::monotonic_ns());
  for (long taken = 0; options.count == 0 || taken < options.count; ++taken) {
    if (taken > 0) {
      const std::int64_t wait_ns =
          std::max<std::int64_t>(schedule.next_ns() - base::monotonic_ns(), 0);
      const timespec wait{wait_ns / 1'000'000'000, wait_ns % 1'000'000'000};
      ::nanosleep(&wait, nullptr);
      sample.flags = schedule.advance(base::monotonic_ns()) ? record::kLateSample : 0;
    }
    if (sampler.columns_changed()) schema.columns = sampler.columns();
    sample.values.resize(schema.columns.size());
    sampler.tick(sample, base::monotonic_ns());
    const record::Rows rows = as_rows(sample);
    const std::string line =
        options.json ? row_json(rows, 0, schema) : record::row_line(rows, 0, schema, false);
    if (!base::write_all(STDOUT_FILENO, line + "\n")) return errno == EPIPE ? 0 : 1;
  }
  return 0;
}

}  // namespace

void add_rate(CLI::App& verb, double& rate_hz) {
  // CLI::Range takes "nan": no comparison with it is true.
  const auto is_number = [](const std::string& word) {
    return std::isnan(std::strtod(word.c_str(), nullptr)) ? word + " is no number" : std::string();
  };
  verb.add_option("--rate", rate_hz, "samples a second (Hz)")
      ->check(CLI::Range(kLeastRateHz, kMostRateHz))
      ->check(is_number)
      ->capture_default_str();
}

void add_sample(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<SampleOptions>();
  CLI::App* verb = program.add_subcommand(
      "sample", "print samples of a process tree and of this node, one line each");
  LoopOptions& loop = options->loop;
  verb->add_option("--pid,--root-pid", loop.root_pid, "the process whose tree is sampled")
      ->check(CLI::PositiveNumber);
  add_rate(*verb, loop.rate_hz);
  verb->add_option("--count", options->count, "stop after so many")->check(CLI::PositiveNumber);
  verb->add_flag("--json", options->json, "one JSON object a line");
  verb->add_flag("--list", options->list,
                 "instead: every metric with its unit, source, cost and state here");
  verb->add_flag("!--no-process", loop.process_level, "leave out the process tree");
  verb->add_flag("!--no-node", loop.node_level, "leave out the node");
  // How a kernel starts it: with descriptors that it inherits.
  verb->add_option("--socket", loop.socket_fd)->group("");
  verb->add_option("--recording", loop.recording_fd)->group("");
  verb->add_option("--root-pidfd", loop.root_pidfd)->group("");
  verb->add_option("--spill", loop.spill_fd)->group("");
  verb->add_option("--spill-offset", loop.spill_offset)->group("");
  verb->add_option("--most-bytes", loop.most_bytes)->group("")->check(CLI::PositiveNumber);
  verb->add_option("--keep-days", loop.keep_days)->group("");
  verb->add_option("--keep-bytes", loop.keep_bytes)->group("");
  verb->callback([options, &chosen] {
    chosen = [options] {
      if (options->list) return list_metrics(*options);
      return options->loop.recording_fd >= 0 ? run_sample_loop(options->loop)
                                             : print_samples(*options);
    };
  });
}

}  // namespace tools
