// Whatever calls itself whatever: in a page it is text.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "view/history.hpp"
#include "view/made_up.hpp"
#include "view/summary.hpp"

namespace view {
namespace {

constexpr const char* kPayloads[] = {
    "<script>window.stolen=1</script>",
    "<img src=x onerror=stolen=1>",
    "<svg/onload=stolen=1>",
    "<a href=\"javascript:stolen=1\">x</a>",
    "<iframe srcdoc='<script>stolen=1</script>'>",
    "</td></tr></table></div><style>*{background:url(//x)}</style>",
    "\" onmouseover=\"stolen=1\" x=\"",
    "' onmouseover='stolen=1' x='",
    "<!-- ",
    "<![CDATA[<b>",
    "&lt;b&gt;&#60;script&#62;",
    "<\xED\xA0\x80script>",
    "\x1b]8;;javascript:stolen=1\x07x\x1b]8;;\x07",
    "\u202e>tpircs<\u2066",
    "<b\n\tstyle=x>",
};

// What a browser would make of it: the names of tags, and their attributes. Values stand in double
// quotes, which ours always do.
struct Page {
  std::set<std::string> tags;
  std::set<std::string> attributes;
  std::string text;

  explicit Page(std::string_view html) {
    while (!html.empty()) {
      const std::size_t begin = html.find('<');
      text += html.substr(0, begin);
      if (begin == html.npos) return;
      html.remove_prefix(begin + 1);
      const std::size_t end = html.find_first_of(" >");
      tags.insert(std::string(
          html.substr(html.starts_with('/') ? 1 : 0, end - (html.starts_with('/') ? 1 : 0))));
      html.remove_prefix(end);
      while (html.starts_with(' ')) {
        const std::size_t equals = html.find("=\"");
        attributes.insert(std::string(html.substr(1, equals - 1)));
        html.remove_prefix(html.find('"', equals + 2) + 1);
      }
      EXPECT_TRUE(html.starts_with('>')) << html;
      html.remove_prefix(std::min<std::size_t>(html.size(), 1));
    }
  }
};

void check(const std::string& html) {
  static const std::set<std::string> kTags{"div", "b",  "table", "thead", "tbody", "tr",
                                           "td",  "th", "br",    "span",  "code"};
  static const std::set<std::string> kAttributes{"style", "colspan"};
  const Page page(html);
  for (const std::string& tag : page.tags) EXPECT_TRUE(kTags.contains(tag)) << tag;
  for (const std::string& name : page.attributes) EXPECT_TRUE(kAttributes.contains(name)) << name;
  for (const char* word : {"\x1b", "\x07", "\u202e", "\u2066", "\xED\xA0\x80"}) {
    EXPECT_EQ(html.find(word), html.npos);
  }
}

// Cards, file systems, processes, causes and reasons that are all called so.
store::CellSummary summary_of(const std::string& payload) {
  store::CellSummary summary = made_up::summary();
  summary.outcome = record::Outcome::kDied;
  summary.outcome_text = payload;
  summary.rate_note = payload;
  summary.gaps = {{1.0, 2.5, payload}};
  for (const char* driver : {"NVML", "DRM amdgpu", "file system"}) {
    const std::string name = driver[0] == 'f' ? "file_system0" : driver[0] == 'N' ? "gpu0" : "gpu1";
    summary.devices.push_back({1, name, driver, payload, payload, 0, 1 << 30, payload});
    for (store::LevelSummary& level : summary.levels) {
      store::MetricSummary metric;
      metric.kind = record::Kind::kGauge;
      metric.values = {50, 90, 10};
      metric.last = 40;
      for (const char* one : {".busy_percent", ".memory_bytes", ".used_bytes", ".free_bytes"}) {
        level.others[name + one] = metric;
      }
    }
  }
  summary.devices.push_back({1, payload, payload, payload, payload, 0, 1, payload});
  for (std::int64_t pid = 1; pid < 4; ++pid) {
    summary.consumers.push_back({pid, 1, payload, 1'000'000'000, 1 << 20, pid == 2});
  }
  summary.other_consumers = 3;
  for (const char* metric : {"process.cpu_time_s", "node.memory_bytes", "process.gpu0.busy_percent",
                             "job", "user.cpu_percent"}) {
    summary.unknown[metric] = payload;
    summary.notes[metric] = payload;
  }
  summary.unknown[payload] = payload;
  summary.notes[payload] = payload;
  for (store::LevelSummary& level : summary.levels) {
    level.capacity_source = payload;
    level.others[payload] = {};
  }
  store::LevelSummary absent;
  absent.name = payload;
  absent.why_absent = payload;
  summary.levels.push_back(absent);
  return summary;
}

// Fault: C5
TEST(Markup, InAnyNameOrReasonIsTextInASummary) {
  for (const std::string payload : kPayloads) {
    store::CellSummary summary = summary_of(payload);
    for (const char* level : {"process", "node", "", "job"}) {
      SCOPED_TRACE(payload + " at " + level);
      check(summary_html(summary, level));
      const std::string text = summary_text(summary, level);
      EXPECT_EQ(text.find_first_of("\x1b\x07"), text.npos);
      EXPECT_EQ(text.find("\u202e"), text.npos);
      EXPECT_EQ(text.find("\xED\xA0\x80"), text.npos);
    }
    summary.begin = payload;
    check(summary_html(summary, ""));
  }
}

// Fault: C5
TEST(Markup, InCodeIsTextInTheHistory) {
  for (const std::string payload : kPayloads) {
    SCOPED_TRACE(payload);
    std::string source = payload;
    source.append(1, '\n').append(payload);
    const std::vector<HistoryRow> rows(2, {summary_of(payload), source});
    check(history_html(rows));
    EXPECT_EQ(history_text(rows).find_first_of("\x1b\x07"), std::string::npos);
    EXPECT_EQ(Page(html_escaped(payload)).tags.size(), 0U);
  }
}

}  // namespace
}  // namespace view
