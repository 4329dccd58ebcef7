// Any bytes, read as an executed notebook: the summaries in it are parsed and shown. What is read
// back from what we write is the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "tools/notebook.hpp"
#include "view/summary.hpp"
#include "view/summary_parse.hpp"

namespace {

void show(std::string_view json) {
  const auto summary = view::parse_summary(json);
  if (!summary) return;
  view::summary_text(*summary, "");
  const std::string again = view::summary_json(*summary);
  const auto parsed = view::parse_summary(again);
  if (!parsed) __builtin_trap();
  view::summary_text(*parsed, "process");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  show(text);
  try {
    for (const std::string& object : tools::summaries_of(text, "x.ipynb").objects) show(object);
  } catch (const base::Error&) {
  }
  return 0;
}
