#pragma once
// The interactive page with a plot's data (or a history's) in it: one self-contained HTML document.

#include <string>
#include <string_view>

namespace view {

// The document for data as plot_json gives it. The data lies in it as it is, but for what could
// end its element or a line (`<`, U+2028, U+2029), which become JSON's escapes. About 50 kB more
// than the data. `json` must be JSON in UTF-8: it isn't looked at.
std::string page_html(std::string_view json);

// The page before it has data, made by frontend/build.mjs: "@data@" stands where the data goes.
std::string_view page_template() noexcept;

}  // namespace view
