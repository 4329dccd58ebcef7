// A plot of an hour, and a column of ten million values.

#include <benchmark/benchmark.h>

#include <cmath>
#include <string>
#include <vector>

#include "made_up.hpp"
#include "store/plot_data.hpp"
#include "store/recording.hpp"
#include "store/reduction.hpp"
#include "view/plot_svg.hpp"

namespace {

// What `%jumper plot all` does until there is a picture: 36,000 rows, 360 cells.
void plot_one_hour(benchmark::State& state) {
  const bench::MadeUp& hour = bench::hour_of(static_cast<int>(state.range(0)));
  const store::Recording recording = store::Recording::open(hour.path);
  const std::vector<std::string> sources(recording.cells().size());
  std::size_t bytes = 0;
  for (auto _ : state) {
    const store::PlotData data = store::plot_data(recording, recording.cells(), sources, {});
    bytes = view::plot_svg(data).size();
    if (data.edges_s.size() < 100) state.SkipWithError("buckets are missing");
  }
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(plot_one_hour)->Arg(2)->Arg(128)->Unit(benchmark::kMillisecond);

struct Column {
  std::vector<std::int64_t> times_ns;
  std::vector<double> values;
};

const Column& ten_million() {
  static const Column column = [] {
    constexpr std::size_t kValues = 10'000'000;
    Column made;
    for (std::size_t i = 0; i < kValues; ++i) {
      made.times_ns.push_back(static_cast<std::int64_t>(i) * bench::kPeriodNs);
      made.values.push_back(std::sin(static_cast<double>(i) * 1e-4));
    }
    return made;
  }();
  return column;
}

void reduce_ten_million(benchmark::State& state) {
  const Column& column = ten_million();
  for (auto _ : state) {
    const store::Reduction reduction(column.times_ns, column.values);
    benchmark::DoNotOptimize(
        reduction.reduce(column.times_ns.front(), column.times_ns.back(), 600));
  }
}
BENCHMARK(reduce_ten_million)->Unit(benchmark::kMillisecond);

void zoom_ten_million(benchmark::State& state) {
  const Column& column = ten_million();
  const store::Reduction reduction(column.times_ns, column.values);
  const std::size_t size = column.times_ns.size();
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        reduction.reduce(column.times_ns[size / 3], column.times_ns[size / 2], 1000));
  }
}
BENCHMARK(zoom_ten_million)->Unit(benchmark::kMillisecond);

}  // namespace
