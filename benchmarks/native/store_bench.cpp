// An hour at 10 Hz as the kernel or `jumper report` reads it: 36,000 rows, 360 cells.

#include <benchmark/benchmark.h>

#include "made_up.hpp"
#include "store/recording.hpp"
#include "store/summary.hpp"
#include "view/summary.hpp"

namespace {

void open_one_hour(benchmark::State& state) {
  const bench::MadeUp& hour = bench::hour_of(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    const store::Recording recording = store::Recording::open(hour.path);
    if (recording.cells().size() < 300) state.SkipWithError("cells are missing");
    benchmark::DoNotOptimize(recording.size_bytes());
  }
  state.counters["bytes"] = static_cast<double>(hour.bytes);
}
BENCHMARK(open_one_hour)->Arg(2)->Arg(128)->Unit(benchmark::kMillisecond);

void open_256_mib(benchmark::State& state) {
  const bench::MadeUp& largest = bench::largest_recording();
  for (auto _ : state) {
    const store::Recording recording = store::Recording::open(largest.path);
    if (!recording.end()) state.SkipWithError("the end is missing");
    benchmark::DoNotOptimize(recording.size_bytes());
  }
  state.counters["bytes"] = static_cast<double>(largest.bytes);
}
BENCHMARK(open_256_mib)->Unit(benchmark::kMillisecond);

// What a notebook pays under a cell of 5 s, when the recording is an hour long.
void summarize_one_cell(benchmark::State& state) {
  const bench::MadeUp& hour = bench::hour_of(static_cast<int>(state.range(0)));
  const store::Recording recording = store::Recording::open(hour.path);
  const store::Cell& cell = recording.cells()[recording.cells().size() / 2];
  for (auto _ : state) {
    const store::CellSummary summary = store::summarize(recording, cell);
    benchmark::DoNotOptimize(view::summary_text(summary, "process"));
    benchmark::DoNotOptimize(view::summary_html(summary, "process"));
    benchmark::DoNotOptimize(view::summary_json(summary));
  }
}
BENCHMARK(summarize_one_cell)->Arg(2)->Arg(128)->Unit(benchmark::kMicrosecond);

// The kernel's own look at a recording to which nothing was added.
void refresh_without_news(benchmark::State& state) {
  const bench::MadeUp& hour = bench::hour_of(2);
  store::Recording recording = store::Recording::follow(hour.file.fd());
  recording.refresh();
  for (auto _ : state) benchmark::DoNotOptimize(recording.refresh());
}
BENCHMARK(refresh_without_news);

}  // namespace
