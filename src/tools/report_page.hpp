#pragma once
// `jumper report FILE -o PAGE.html`: a whole run as one document.

#include "tools/report.hpp"

namespace tools {

// Writes options.output, whole or not at all: beside its place, then renamed. Throws base::Error
// when the recording can't be opened, the page can't be written, or something is there already and
// options.force doesn't say to replace it.
int report_page(const ReportOptions& options);

}  // namespace tools
