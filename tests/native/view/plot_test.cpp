#include "view/plot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "view/plot_axes.hpp"
#include "view/plot_path.hpp"
#include "view/plot_svg.hpp"

namespace view {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

store::PlotData made_up(std::size_t buckets = 600, int cells = 2) {
  store::PlotData data;
  data.label = "fit.ipynb";
  data.host = "node7";
  data.begin_wall_s = 1'732'000'000.25;
  data.level = "process";
  data.levels = {"process"};
  data.shown = {"cpu", "cpu_cores", "memory", "io"};
  for (std::size_t i = 0; i <= buckets; ++i) data.edges_s.push_back(static_cast<double>(i) * 0.1);
  const double end_s = data.edges_s.back();
  for (int i = 0; i < cells; ++i) {
    data.cells.push_back(
        {i + 1, i + 5, end_s * i / cells, end_s * (i + 0.9) / cells, "ok", "model.fit(x)"});
  }
  const auto curve = [&](const char* name, double scale, bool band) {
    store::PlotTrack track{name, {}, {}, {}};
    for (std::size_t i = 0; i < buckets; ++i) {
      const double value = scale * (1 + std::sin(static_cast<double>(i) * 0.7)) / 2;
      track.mean.push_back(value);
      if (band) track.min.push_back(value * 0.8);
      if (band) track.max.push_back(value * 1.2);
    }
    return track;
  };
  const auto metric = [&](const char* id, const char* title, const char* unit,
                          std::vector<store::PlotTrack> tracks) {
    store::PlotMetric one{id, title, unit, false, {}};
    one.panels.push_back({"process", "", {}, std::nullopt, std::move(tracks)});
    data.metrics.push_back(std::move(one));
  };
  metric("cpu", "CPU", "%", {curve("CPU", 80, true)});
  metric("cpu_cores", "CPU per core", "%", {});
  data.metrics.back().heat = true;
  for (int core = 0; core < 16; ++core) {
    data.metrics.back().panels[0].tracks.push_back(curve("core 0", 100, false));
  }
  metric("memory", "Memory", "B", {curve("memory", 3e9, true)});
  data.metrics.back().panels[0].lines.push_back({"limit", 4'294'967'296.0});
  metric("io", "I/O", "B/s", {curve("read", 2e8, true), curve("written", 1e8, true)});
  return data;
}

TEST(PlotJson, IsTheContract) {
  store::PlotData data = made_up(3, 1);
  data.metrics[2].panels[0].tracks[0].mean[1] = store::kNotKnown;
  data.gaps.push_back({0.1, 0.2, "the sampler was stopped"});
  const auto json = nlohmann::json::parse(plot_json(data));
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["edges_s"].size(), 4U);
  EXPECT_EQ(json["cells"][0]["label"], "In [5]");
  EXPECT_EQ(json["gaps"][0]["reason"], "the sampler was stopped");
  EXPECT_EQ(json["metrics"][2]["panels"]["process"]["tracks"][0]["mean"][1], nullptr);
  EXPECT_EQ(json["metrics"][2]["panels"]["process"]["lines"][0]["label"], "limit");
  EXPECT_EQ(json["metrics"][1]["heat"], true);
}

TEST(PlotJson, HasFiveDigitsThatCount) {
  store::PlotData data = made_up(1, 1);
  data.metrics[0].panels[0].tracks[0].mean[0] = 12.3456789;
  EXPECT_THAT(plot_json(data), HasSubstr("\"mean\":[12.346]"));
}

TEST(PlotViews, ShowTheUsersTextAsText) {
  store::PlotData data = made_up();
  data.label = "</title><script>alert(1)</script>\x1b[31m\u202E'\"&";
  data.host = "<b>&\xff";
  data.cells[0].code = "]]><img src=x onerror=alert(1)>\n";
  data.gaps.push_back({1, 2, "<svg onload=x>"});
  data.metrics[3].panels[0].tracks[0].name = "<i>";
  for (const std::string& text : {plot_svg(data), plot_json(data)}) {
    for (const char* markup : {"<script", "<img", "<i>", "<b>", "<svg onload", "\x1b", "\u202E"}) {
      EXPECT_THAT(text, Not(HasSubstr(markup)));
    }
  }
  EXPECT_THAT(plot_text(data), Not(HasSubstr("\x1b")));
  EXPECT_TRUE(nlohmann::json::accept(plot_json(data)));
}

TEST(PlotSvg, OfTheUsualMetricsIsSmall) {
  EXPECT_LT(plot_svg(made_up(60)).size(), 25'000U);
  EXPECT_LT(plot_svg(made_up(600)).size(), 27'000U);
}

TEST(PlotSvg, SaysInWordsWhatItShows) {
  const std::string svg = plot_svg(made_up());
  EXPECT_THAT(svg, HasSubstr("role='img'"));
  EXPECT_THAT(svg, HasSubstr("<title id='a'>fit.ipynb · In [5] and In [6]"));
  EXPECT_THAT(svg, HasSubstr("CPU: mean "));
  EXPECT_THAT(svg, HasSubstr("In [5] from 0 s to"));
}

TEST(PlotSvg, LeavesOutLabelsThatHaveNoRoom) {
  const auto labels = [](const std::string& svg) {
    std::size_t count = 0;
    for (std::size_t at = svg.find("class='k'"); at != svg.npos;
         at = svg.find("class='k'", at + 1)) {
      ++count;
    }
    return count;
  };
  EXPECT_EQ(labels(plot_svg(made_up(600, 2))), 2U);
  EXPECT_EQ(labels(plot_svg(made_up(600, 200))), 0U);
}

TEST(PlotSvg, HatchesGaps) {
  store::PlotData data = made_up(60, 1);
  data.shown = {"cpu"};
  EXPECT_THAT(plot_svg(data), Not(HasSubstr("url(#h)'")));
  store::PlotTrack& cpu = data.metrics[0].panels[0].tracks[0];
  for (auto* values : {&cpu.min, &cpu.max, &cpu.mean}) {
    std::fill(values->begin() + 20, values->begin() + 40, store::kNotKnown);
  }
  const std::string svg = plot_svg(data);
  EXPECT_THAT(svg, HasSubstr("url(#h)'"));
  EXPECT_THAT(svg, HasSubstr("not measured"));
}

TEST(PlotViews, OfNothingSaySo) {
  EXPECT_THAT(plot_svg({}), HasSubstr("Nothing has been measured yet"));
  EXPECT_EQ(plot_text({}), "nothing has been measured yet");
  EXPECT_EQ(nlohmann::json::parse(plot_json({}))["edges_s"].size(), 0U);
}

TEST(ValueAxis, HasRoundTicks) {
  const auto texts = [](double highest, double top, const char* unit) {
    std::vector<std::string> texts;
    const ValueAxis axis(highest, top, unit);
    for (const Tick& tick : axis.ticks()) texts.push_back(tick.text);
    return texts;
  };
  EXPECT_THAT(texts(98, 100, "%"), ElementsAre("0", "50 %", "100 %"));
  EXPECT_THAT(texts(3.2, 100, "%"), ElementsAre("0", "2 %", "4 %"));
  EXPECT_THAT(texts(343.0 * (1 << 20), 0, "B"), ElementsAre("0", "128 MiB", "256 MiB", "384 MiB"));
  EXPECT_THAT(texts(0, 0, ""), ElementsAre("0", "1", "2"));
  EXPECT_THAT(texts(std::nan(""), 0, "B/s").size(), 3U);
}

TEST(TimeAxis, GivesCutTimeLittleRoom) {
  store::PlotData data = made_up(600, 2);
  data.cells[0].end_s = 10;
  data.cells[1].begin_s = 50;
  data.cells[1].end_s = 60;
  data.cut = true;
  const TimeAxis axis(data, 0, 814);
  EXPECT_NEAR(axis.place(10), 400, 0.1);
  EXPECT_NEAR(axis.place(50), 414, 0.1);
  EXPECT_TRUE(axis.is_cut(30));
  EXPECT_THAT(axis.cuts(), SizeIs(1));
  EXPECT_FALSE(axis.ticks().empty());
}

TEST(PlotPath, IsShort) {
  PlotPath path;
  path.move(1, 2);
  path.line(2.5, 2);
  path.line(2.5, 1.26);
  path.line(3, 0.96);
  path.close();
  path.move(1, 3);
  EXPECT_EQ(path.text(), "m1 2h1.5v-.7l.5-.3zm0 1");
}

}  // namespace
}  // namespace view
