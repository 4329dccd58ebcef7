// Findings as text for people and as lines of JSON.

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "tools/doctor.hpp"
#include "view/escape.hpp"

namespace tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kWidth = 100;
constexpr std::size_t kResultColumn = 2;
constexpr std::size_t kWhatColumn = kResultColumn + 9;
constexpr std::size_t kReasonColumn = kWhatColumn + 24;
constexpr std::size_t kMostText = 600;  // code points of a reason

constexpr std::array kResults{Result::kOk, Result::kLimited, Result::kMissing};

const char* colour(Result result) noexcept {
  switch (result) {
    case Result::kOk:
      return "\033[32m";
    case Result::kLimited:
      return "\033[33m";
    case Result::kMissing:
      break;
  }
  return "\033[31m";
}

// Appends `text` word by word from the column on; the line stands at `at` already.
void wrap(std::string& out, std::size_t at, std::size_t column, std::string_view text) {
  bool first = true;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(space == text.npos ? text.size() : space + 1);
    const std::size_t width = view::width(word);
    if (!first && at + 1 + width > kWidth) {
      out += '\n';
      out.append(column, ' ');
      at = column;
      first = true;
    }
    if (!first) {
      out += ' ';
      ++at;
    }
    out += word;
    at += width;
    first = false;
  }
}

}  // namespace

std::string_view result_word(Result result) noexcept {
  switch (result) {
    case Result::kOk:
      return "ok";
    case Result::kLimited:
      return "limited";
    case Result::kMissing:
      break;
  }
  return "missing";
}

std::string finding_json(const Finding& finding) {
  const Json json{{"group", finding.group},
                  {"what", finding.what},
                  {"result", result_word(finding.result)},
                  {"reason", finding.reason},
                  {"remedy", finding.remedy}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<Finding> read_finding(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto text = [&json](const char* key) -> std::optional<std::string> {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_string()) return std::nullopt;
    return found->get<std::string>();
  };
  auto what = text("what");
  const auto word = text("result");
  if (!what || !word) return std::nullopt;
  for (const Result result : kResults) {
    if (*word != result_word(result)) continue;
    return Finding{text("group").value_or(""), *std::move(what), result,
                   text("reason").value_or(""), text("remedy").value_or("")};
  }
  return std::nullopt;
}

std::string finding_text(const Finding& finding, bool colours) {
  const std::string what = view::one_line(finding.what, kMostText);
  std::string word(result_word(finding.result));
  const std::size_t gap = kWhatColumn - kResultColumn - word.size();
  if (colours) word = colour(finding.result) + word + "\033[0m";
  std::string out(kResultColumn, ' ');
  out += word;
  out.append(gap, ' ');
  out += what;
  std::size_t at = kWhatColumn + view::width(what);
  const auto go_to_reason = [&] {
    if (at + 2 > kReasonColumn) {
      out += '\n';
      at = 0;
    }
    out.append(kReasonColumn - at, ' ');
    at = kReasonColumn;
  };
  if (!finding.reason.empty()) {
    go_to_reason();
    wrap(out, at, kReasonColumn, view::one_line(finding.reason, kMostText));
    at = kWidth;
  }
  if (!finding.remedy.empty()) {
    go_to_reason();
    out += "→ ";
    wrap(out, at + 2, kReasonColumn + 2, view::one_line(finding.remedy, kMostText));
  }
  return out + "\n";
}

}  // namespace tools
