#pragma once
// The summaries that an executed notebook keeps under its cells.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tools {

struct NotebookSummaries {
  std::vector<std::string> objects;  // summaries as JSON, each once, by the begin of the cell
  std::size_t code_cells = 0;
  std::size_t newer = 0;  // summaries of a version that this program doesn't know
};

// Reads the text of a notebook (nbformat 4). Any bytes do; what isn't ours is passed over while it
// is read. Throws base::Error with `path` when it is no notebook.
NotebookSummaries summaries_of(std::string_view text, const std::string& path);

// True for a file whose name ends with .ipynb and that doesn't begin like a recording.
bool is_notebook(const std::string& path);

// Reads the file, 256 MiB at most. Throws base::Error.
NotebookSummaries read_notebook(const std::string& path);

}  // namespace tools
