#include "view/page.hpp"

namespace view {
namespace {

constexpr std::string_view kPlace = "@data@";
constexpr std::string_view kLineSeparators = "\xE2\x80";  // U+2028 and U+2029 begin so

// In JSON all of these stand within strings only, where an escape means the same.
std::string without_ends(std::string_view json) {
  std::string text;
  text.reserve(json.size() + json.size() / 16);
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string_view rest = json.substr(i);
    if (json[i] == '<') {
      text += "\\u003c";
    } else if (rest.size() > 2 && rest.starts_with(kLineSeparators) &&
               (rest[2] == '\xA8' || rest[2] == '\xA9')) {
      text += rest[2] == '\xA8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      text += json[i];
    }
  }
  return text;
}

}  // namespace

std::string page_html(std::string_view json) {
  const std::string_view page = page_template();
  const std::size_t place = page.find(kPlace);
  std::string html(page.substr(0, place));
  html += "<script type=\"application/json\" id=\"data\">";
  html += without_ends(json);
  html += "</script>";
  return html.append(page.substr(place + kPlace.size()));
}

}  // namespace view
