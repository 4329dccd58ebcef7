#include "store/plot_data.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>

#include "store/synthetic.hpp"

namespace store {
namespace {

using namespace synthetic;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;

constexpr auto kUnknown = record::unknown(record::State::kVanished);

PlotData plot(const Recording& recording, const PlotRequest& request = {}) {
  std::vector<std::string> sources;
  for (const Cell& cell : recording.cells()) sources.push_back(recording.source(cell));
  return plot_data(recording, recording.cells(), sources, request);
}

const PlotTrack& track(const PlotData& data, std::string_view metric, std::string_view level,
                       std::size_t number = 0) {
  return data.metric(metric)->panel(level)->tracks.at(number);
}

void add_cell(Recorder& recorder, std::int64_t index, std::int64_t begin_ns, std::int64_t end_ns) {
  record::CellBegin begin;
  begin.index = begin.execution_count = index;
  begin.time_ns = begin_ns;
  begin.sample_ns = begin_ns + kMs;
  begin.source = "\n  fit(<model>)\nmore";
  record::CellEnd end;
  end.index = end.execution_count = index;
  end.time_ns = end_ns;
  end.sample_ns = end_ns + kMs;
  recorder.add(begin);
  recorder.add(end);
}

// Ticks with jitter, edges a little behind their marks, everything in motion, some unknown.
void fill(Recorder& recorder, std::mt19937_64& chance, int cells) {
  const auto up_to = [&](std::int64_t most) {
    return static_cast<std::int64_t>(chance() % static_cast<std::uint64_t>(most + 1));
  };
  std::int64_t cpu_ns = 0;
  std::int64_t node_ns = 0;
  std::int64_t read = 0;
  std::int64_t now_ns = kStart;
  const auto row = [&](std::int64_t time_ns, bool edge) {
    const std::int64_t step_ns = time_ns - now_ns;
    cpu_ns += up_to(2 * step_ns);
    node_ns += up_to(8 * step_ns / (10 * kMs)) * 10 * kMs;
    read += up_to(kMiB);
    now_ns = time_ns;
    const bool bound = up_to(4) == 0;
    recorder.row(time_ns,
                 {{"process.cpu_time_ns", up_to(60) == 0 ? kUnknown : cpu_ns},
                  {"node.cpu_time_ns", node_ns},
                  {"process.io_read_bytes", read},
                  {"process.memory_bytes", up_to(bound ? 400 : 200) * kMiB},
                  {"process.memory_is_upper_bound", bound ? 1 : 0},
                  {"node.memory_bytes", up_to(1000) * kMiB}},
                 static_cast<std::uint8_t>(edge ? record::kEdgeSample : 0));
  };
  std::int64_t mark_ns = kStart;
  for (int i = 1; i <= cells; ++i) {
    const std::int64_t begin_ns = mark_ns + up_to(3 * kSecond);
    const std::int64_t end_ns = begin_ns + 300 * kMs + up_to(5 * kSecond);
    const auto ticks_until = [&](std::int64_t until_ns) {
      while (now_ns + 110 * kMs < until_ns) row(now_ns + 95 * kMs + up_to(10 * kMs), false);
    };
    ticks_until(begin_ns);
    row(begin_ns + kMs, true);
    ticks_until(end_ns);
    row(end_ns + kMs, true);
    add_cell(recorder, i, begin_ns, end_ns);
    mark_ns = end_ns + 4 * kMs;
  }
}

double highest_in(const PlotData& data, const PlotTrack& track, const PlotCell& cell) {
  double highest = kNotKnown;
  for (std::size_t i = 0; i < track.mean.size(); ++i) {
    const double middle_s = (data.edges_s[i] + data.edges_s[i + 1]) / 2;
    if (middle_s < cell.begin_s || middle_s > *cell.end_s) continue;
    highest = std::fmax(highest, track.max.empty() ? track.mean[i] : track.max[i]);
  }
  return highest;
}

// A summary without counters at both edges says nothing of the rates between.
void expect_same(const std::optional<double>& of_summary, double of_plot) {
  if (!of_summary) return;
  EXPECT_NEAR(of_plot, *of_summary, 1e-9 * *of_summary + 1e-9);
}

TEST(PlotData, HasThePeaksOfTheSummaries) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    std::mt19937_64 chance(seed);
    Recorder recorder;
    fill(recorder, chance, 6);
    const Recording recording = recorder.open();
    for (const std::size_t most : {60U, 600U}) {
      PlotRequest request;
      request.most_buckets = most;
      const PlotData data = plot(recording, request);
      ASSERT_THAT(data.cells, SizeIs(6));
      EXPECT_TRUE(std::ranges::is_sorted(data.edges_s));
      for (const PlotCell& cell : data.cells) {
        const CellSummary summary = summarize(recording, *recording.cell(cell.index));
        for (const LevelSummary& level : summary.levels) {
          if (data.metric("cpu")->panel(level.name) == nullptr) continue;
          SCOPED_TRACE(testing::Message()
                       << seed << ' ' << most << ' ' << level.name << ' ' << cell.index);
          expect_same(level.cpu_percent.max,
                      highest_in(data, track(data, "cpu", level.name), cell));
          expect_same(level.memory_bytes.max,
                      highest_in(data, track(data, "memory", level.name), cell));
        }
      }
    }
  }
}

TEST(PlotData, OfRatesKeepsWhatWasGained) {
  Recorder recorder;
  for (std::int64_t i = 0; i <= 100; ++i) {
    recorder.row(kStart + i * 100 * kMs, {{"process.io_read_bytes", i < 50 ? 0 : (i - 50) * 1000}});
  }
  add_cell(recorder, 1, kStart, kStart + 10 * kSecond);
  PlotRequest request;
  request.most_buckets = 10;
  const PlotData data = plot(recorder.open(), request);
  const PlotTrack& read = track(data, "io", "process");
  double gained = 0;
  for (std::size_t i = 0; i < read.mean.size(); ++i) {
    gained += read.mean[i] * (data.edges_s[i + 1] - data.edges_s[i]);
  }
  EXPECT_NEAR(gained, 50'000, 1);
  EXPECT_THAT(read.mean, SizeIs(10));
  EXPECT_EQ(read.mean.front(), 0);
  EXPECT_NEAR(read.mean.back(), 10'000, 1e-6);
}

TEST(PlotData, OfSharesOfTimeIsNeverAboveAllOfIt) {
  Recorder recorder({"node.pressure_cpu_some_ns", "node.pressure_io_some_ns"});
  for (std::int64_t i = 0; i <= 50; ++i) {
    recorder.row(kStart + i * 100 * kMs, {{"node.pressure_cpu_some_ns", i * 200 * kMs},
                                          {"node.pressure_io_some_ns", i * 150 * kMs}});
  }
  add_cell(recorder, 1, kStart, kStart + 5 * kSecond);
  const PlotData data = plot(recorder.open());
  const PlotPanel* panel = data.metric("pressure")->panel("node");
  ASSERT_THAT(panel->tracks, SizeIs(2));
  for (const PlotTrack& one : panel->tracks) {
    for (const double mean : one.mean) EXPECT_FALSE(mean > 100) << one.name;
  }
}

TEST(PlotData, OfAGapIsUnknownAndSaysWhy) {
  Recorder recorder;
  for (std::int64_t i = 0; i <= 40; ++i) {
    if (i > 10 && i < 30) continue;
    recorder.row(kStart + i * 100 * kMs, {{"process.cpu_time_ns", i * kMs}});
  }
  recorder.add(gap(kStart + kSecond, kStart + 3 * kSecond));
  add_cell(recorder, 1, kStart, kStart + 4 * kSecond);
  const PlotData data = plot(recorder.open());
  ASSERT_THAT(data.gaps, SizeIs(1));
  EXPECT_NEAR(data.gaps[0].begin_s, 1, 1e-9);
  EXPECT_NEAR(data.gaps[0].end_s, 3, 1e-9);
  for (const char* metric : {"cpu", "memory"}) {
    const PlotTrack& one = track(data, metric, "process");
    for (std::size_t i = 0; i < one.mean.size(); ++i) {
      if (data.edges_s[i] > 1.001 && data.edges_s[i + 1] < 3.001) {
        EXPECT_TRUE(std::isnan(one.mean[i])) << metric << data.edges_s[i];
      }
      if (data.edges_s[i + 1] < 0.95) {
        EXPECT_FALSE(std::isnan(one.mean[i])) << metric << data.edges_s[i];
      }
    }
  }
}

TEST(PlotData, LeavesOutTheTimeBetweenCellsWhenItIsTheLonger) {
  Recorder recorder;
  for (std::int64_t i = 0; i <= 700; ++i) recorder.row(kStart + i * 100 * kMs);
  add_cell(recorder, 1, kStart, kStart + 5 * kSecond);
  add_cell(recorder, 2, kStart + 60 * kSecond, kStart + 65 * kSecond);
  const Recording recording = recorder.open();
  EXPECT_TRUE(plot(recording).cut);
  PlotRequest request;
  request.cut_between_cells = false;
  EXPECT_FALSE(plot(recording, request).cut);
  request.cells = {2};
  const PlotData data = plot(recording, request);
  ASSERT_THAT(data.cells, SizeIs(1));
  EXPECT_EQ(data.edges_s.front(), 0);
  EXPECT_NEAR(data.edges_s.back(), 5, 1e-9);
  EXPECT_EQ(data.cells[0].code, "fit(<model>)");
}

TEST(PlotData, OfManyCellsStaysSmall) {
  Recorder recorder;
  for (std::int64_t i = 0; i <= 4000; ++i) recorder.row(kStart + i * 50 * kMs);
  for (std::int64_t i = 0; i < 1000; ++i) {
    add_cell(recorder, i + 1, kStart + i * 200 * kMs, kStart + i * 200 * kMs + 150 * kMs);
  }
  const PlotData data = plot(recorder.open());
  EXPECT_THAT(data.cells, SizeIs(1000));
  EXPECT_LE(data.edges_s.size(), 700U);
  EXPECT_TRUE(std::ranges::is_sorted(data.edges_s, std::less_equal<>()) ||
              std::ranges::adjacent_find(data.edges_s) == data.edges_s.end());
}

TEST(PlotData, SaysWhatAMetricWithoutAValueLacks) {
  Recorder recorder;
  recorder.add(record::Missing{1, "process.gpu", record::State::kNotSupported, "no GPU driver"});
  for (std::int64_t i = 0; i <= 10; ++i) recorder.row(kStart + i * 100 * kMs);
  add_cell(recorder, 1, kStart, kStart + kSecond);
  const Recording recording = recorder.open();
  const auto asked = [&](const char* metric, const char* level = "process") {
    PlotRequest request;
    request.metrics = {metric};
    request.level = level;
    return [&recording, request] { plot(recording, request); };
  };
  EXPECT_THAT(asked("gpu"),
              ThrowsMessage<std::invalid_argument>(HasSubstr("not supported: no GPU driver")));
  EXPECT_THAT(asked("gqu"), ThrowsMessage<std::invalid_argument>(HasSubstr("no metric 'gqu'")));
  EXPECT_THAT(asked("cpu", "core"),
              ThrowsMessage<std::invalid_argument>(HasSubstr("level 'core'")));
  PlotRequest request;
  request.level = "job";  // has nothing here
  EXPECT_EQ(plot(recording, request).level, "process");
}

TEST(PlotData, OfARecordingWithoutAnythingIsEmpty) {
  Recorder recorder;
  const PlotData data = plot(recorder.open());
  EXPECT_THAT(data.edges_s, IsEmpty());
  EXPECT_THAT(data.metrics, IsEmpty());
  EXPECT_THAT(data.shown, IsEmpty());
}

TEST(PlotData, WithoutCellsShowsTheWholeRecording) {
  Recorder recorder;
  for (std::int64_t i = 0; i <= 20; ++i) recorder.row(kStart + i * 100 * kMs);
  const PlotData data = plot(recorder.open());
  EXPECT_THAT(data.cells, IsEmpty());
  EXPECT_NEAR(data.edges_s.back(), 2, 1e-9);
  EXPECT_THAT(data.shown, ElementsAre("cpu", "memory", "io"));
}

TEST(PlotData, HasTheCoresByTheirRealNumbers) {
  std::vector<std::string> columns = both_levels();
  for (const char* core : {"10", "2", "3"}) {
    columns.push_back(std::string("node.core") + core + ".cpu_time_ns");
  }
  Recorder recorder(columns);
  record::Machine machine;
  machine.time_ns = 2;
  machine.cores_online = 3;
  machine.affinity = {3};
  recorder.add(machine);
  for (std::int64_t i = 0; i <= 20; ++i) {
    recorder.row(kStart + i * 100 * kMs, {{"node.core2.cpu_time_ns", i * 50 * kMs},
                                          {"node.core3.cpu_time_ns", i * 100 * kMs},
                                          {"node.core10.cpu_time_ns", 7}});
  }
  add_cell(recorder, 1, kStart, kStart + 2 * kSecond);
  const PlotData data = plot(recorder.open());
  const PlotMetric* cores = data.metric("cpu_cores");
  ASSERT_NE(cores, nullptr);
  EXPECT_THAT(cores->panel("node")->tracks,
              ElementsAre(Field(&PlotTrack::name, "core 2"), Field(&PlotTrack::name, "core 3"),
                          Field(&PlotTrack::name, "core 10")));
  EXPECT_NEAR(cores->panel("node")->tracks[0].mean[5], 50, 1e-6);
  EXPECT_NEAR(cores->panel("node")->tracks[1].mean[5], 100, 1e-6);
  EXPECT_NEAR(cores->panel("node")->tracks[2].mean[5], 0, 1e-6);
}

double highest(const PlotTrack& track, std::size_t first, std::size_t last) {
  double highest = kNotKnown;
  for (std::size_t i = first; i < last; ++i) {
    highest = std::fmax(highest, track.max.empty() ? track.mean[i] : track.max[i]);
  }
  return highest;
}

// Of every curve of the buckets from `first` to before `last`.
void expect_same_peaks(const PlotData& whole, std::size_t first, std::size_t last,
                       const PlotData& part, bool exactly) {
  EXPECT_NEAR(part.edges_s.front(), whole.edges_s[first], 1e-6);
  EXPECT_NEAR(part.edges_s.back(), whole.edges_s[last], 1e-6);
  EXPECT_GE(part.edges_s.size(), last - first + 1);
  for (const PlotMetric& metric : whole.metrics) {
    for (const PlotPanel& panel : metric.panels) {
      for (const PlotTrack& one : panel.tracks) {
        double of_part = kNotKnown;
        const PlotMetric* found = part.metric(metric.id);
        const PlotPanel* same = found == nullptr ? nullptr : found->panel(panel.level);
        if (same != nullptr) {
          const auto other = std::ranges::find(same->tracks, one.name, &PlotTrack::name);
          if (other != same->tracks.end()) of_part = highest(*other, 0, part.edges_s.size() - 1);
        }
        const double of_whole = highest(one, first, last);
        if (std::isnan(of_whole) || !exactly) {
          EXPECT_FALSE(of_part < of_whole) << metric.id << ' ' << panel.level;
        } else {
          EXPECT_EQ(of_part, of_whole) << metric.id << ' ' << panel.level;
        }
      }
    }
  }
}

TEST(PlotWindow, HasThePeaksOfTheWhole) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    std::mt19937_64 chance(seed);
    Recorder recorder;
    fill(recorder, chance, 6);
    const Recording recording = recorder.open();
    for (const std::int64_t cell : {0, 1, 2, 3, 4, 5, 6}) {
      PlotRequest request;
      if (cell > 0) request.cells = {cell};
      request.cut_between_cells = seed % 2 == 0;
      request.most_buckets = 60;
      const PlotData whole = plot(recording, request);
      request.most_buckets = 600;
      const std::size_t buckets = whole.edges_s.size() - 1;
      for (int i = 0; i < 6; ++i) {
        const std::size_t first = chance() % buckets;
        const std::size_t last = first + 1 + chance() % (buckets - first);
        request.window = {whole.edges_s[first], whole.edges_s[last]};
        SCOPED_TRACE(testing::Message() << seed << ' ' << cell << ' ' << first << ' ' << last);
        // Of all cells the window also knows the short times between them.
        expect_same_peaks(whole, first, last, plot(recording, request), cell > 0);
      }
    }
  }
}

TEST(PlotWindow, NearEnoughHasEachSample) {
  Recorder recorder;
  constexpr std::int64_t kRows = 10'000;
  std::int64_t cpu_ns = 0;
  for (std::int64_t i = 0; i <= kRows; ++i) {
    if (i > 0) cpu_ns += (i % 7) * 10 * kMs;  // of the 100 ms before
    recorder.row(kStart + i * 100 * kMs,
                 {{"process.cpu_time_ns", cpu_ns}, {"process.memory_bytes", i * kMiB}});
  }
  add_cell(recorder, 1, kStart, kStart + kRows / 10 * kSecond);
  PlotRequest request;
  request.window = {500.05, 510.05};
  const PlotData data = plot(recorder.open(), request);
  const PlotTrack& memory = track(data, "memory", "process");
  const PlotTrack& cpu = track(data, "cpu", "process");
  ASSERT_THAT(memory.mean, SizeIs(101));
  EXPECT_THAT(memory.max, IsEmpty());
  EXPECT_THAT(cpu.max, IsEmpty());
  for (std::size_t i = 0; i < 101; ++i) {
    const auto row = static_cast<std::int64_t>(5000 + i);
    EXPECT_EQ(memory.mean[i], static_cast<double>(row * kMiB)) << i;
    EXPECT_NEAR(cpu.mean[i], static_cast<double>((row + 1) % 7) * 10 / 2, 1e-9) << i;
    EXPECT_NEAR(data.edges_s[i], i == 0 ? 500.05 : static_cast<double>(row) / 10, 1e-9);
  }
}

TEST(PlotWindow, HasEachSampleOfACoreFarFromTheCellsBegin) {
  std::vector<std::string> columns = both_levels();
  columns.emplace_back("node.core0.cpu_time_ns");
  Recorder recorder(columns);
  std::int64_t core_ns = 0;
  for (std::int64_t i = 0; i <= 10'000; ++i) {
    if (i > 0) core_ns += (i % 7) * 10 * kMs;
    recorder.row(kStart + i * 100 * kMs, {{"node.core0.cpu_time_ns", core_ns}});
  }
  add_cell(recorder, 1, kStart, kStart + 1000 * kSecond);
  PlotRequest request;
  request.window = {900, 910};
  const PlotData data = plot(recorder.open(), request);
  const PlotTrack& core = track(data, "cpu_cores", "node");
  ASSERT_THAT(core.mean, SizeIs(100));
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_NEAR(core.mean[i], static_cast<double>((9001 + i) % 7) * 10, 1e-9) << i;
  }
}

TEST(PlotWindow, KeepsBeginCellsAndLines) {
  Recorder recorder;
  for (std::int64_t i = 0; i <= 700; ++i) recorder.row(kStart + i * 100 * kMs);
  recorder.add(gap(kStart + 2 * kSecond, kStart + 3 * kSecond));
  add_cell(recorder, 1, kStart, kStart + 5 * kSecond);
  add_cell(recorder, 2, kStart + 60 * kSecond, kStart + 65 * kSecond);
  const Recording recording = recorder.open();
  const PlotData whole = plot(recording);
  PlotRequest request;
  request.window = {61, 62.5};
  const PlotData data = plot(recording, request);
  EXPECT_EQ(data.begin_wall_s, whole.begin_wall_s);
  EXPECT_THAT(data.cells, SizeIs(2));
  EXPECT_EQ(data.cells[1].begin_s, 60);
  EXPECT_EQ(data.edges_s.front(), 61);
  EXPECT_EQ(data.edges_s.back(), 62.5);
  EXPECT_THAT(data.gaps, IsEmpty());
  EXPECT_EQ(data.cut, whole.cut);
  EXPECT_EQ(data.metric("memory")->panel("process")->lines.size(),
            whole.metric("memory")->panel("process")->lines.size());
  request.window = {-1e300, 1e300};  // more than all
  EXPECT_EQ(plot(recording, request).edges_s, whole.edges_s);
  request.window = {2.2, 2.8};
  ASSERT_THAT(plot(recording, request).gaps, SizeIs(1));
  EXPECT_EQ(plot(recording, request).gaps[0].begin_s, 2.2);
}

TEST(PlotWindow, WithoutAnyTimeIsRefused) {
  Recorder recorder;
  for (std::int64_t i = 0; i <= 20; ++i) recorder.row(kStart + i * 100 * kMs);
  add_cell(recorder, 1, kStart, kStart + 2 * kSecond);
  const Recording recording = recorder.open();
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  for (const PlotWindow& window : std::initializer_list<PlotWindow>{{5, 6},
                                                                    {-2, -1},
                                                                    {1, 1},
                                                                    {1.5, 1},
                                                                    {kNotKnown, 1},
                                                                    {0, kNotKnown},
                                                                    {kInfinite, kInfinite}}) {
    PlotRequest request;
    request.window = window;
    EXPECT_THAT([&] { plot(recording, request); },
                ThrowsMessage<std::invalid_argument>(HasSubstr("nothing of the plot's time")))
        << window.begin_s << ' ' << window.end_s;
  }
}

}  // namespace
}  // namespace store
