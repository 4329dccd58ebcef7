#include "tools/notebook.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"
#include "record/log.hpp"

namespace tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kType = "application/vnd.jumper+json";
constexpr std::size_t kMostBytes = 256U << 20;
constexpr int kVersion = 1;
constexpr const char* kCannotRead = "cannot read notebook";

// Whether what stands at this key is read into memory: notebook, cell, output, and its data.
bool is_wanted(int depth, const std::string& key) {
  switch (depth) {
    case 1:
      return key == "cells" || key == "nbformat";
    case 3:
      return key == "outputs" || key == "cell_type";
    case 5:
      return key == "data";
    case 6:
      return key == kType;
    default:
      return depth > 6;
  }
}

const Json& at(const Json& json, std::string_view key) {
  static const Json kNone;
  if (!json.is_object()) return kNone;
  const auto found = json.find(key);
  return found == json.end() ? kNone : *found;
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

class Collector {
 public:
  explicit Collector(NotebookSummaries& found) : found_(found) {}

  // A summary, or the list of them that a history is; other objects of ours aren't about one cell.
  void add(const Json& ours) {
    if (ours.is_array()) {
      for (const Json& one : ours) add_one(one);
    } else {
      add_one(ours);
    }
  }

  // The same cell may be shown more than once.
  void finish() {
    for (auto& [key, text] : by_begin_) found_.objects.push_back(std::move(text));
  }

 private:
  void add_one(const Json& one) {
    const Json& version = at(one, "version");
    const Json& cell = at(one, "cell");
    if (!version.is_number_integer() || !cell.is_object()) return;
    if (version > kVersion) {
      ++found_.newer;
      return;
    }
    if (at(cell, "outcome").is_null()) return;  // it still ran: a history lists its own cell, too
    const Json& begin = at(cell, "begin");
    const Json& index = at(cell, "index");
    by_begin_.try_emplace({begin.is_string() ? begin.get<std::string>() : std::string(),
                           index.is_number_integer() ? index.get<std::int64_t>() : 0},
                          text_of(one));
  }

  NotebookSummaries& found_;
  std::map<std::pair<std::string, std::int64_t>, std::string> by_begin_;
};

}  // namespace

NotebookSummaries summaries_of(std::string_view text, const std::string& path) {
  const auto keep = [](int depth, Json::parse_event_t event, Json& parsed) {
    if (event != Json::parse_event_t::key) return true;
    return is_wanted(depth, parsed.get_ref<const std::string&>());
  };
  const Json notebook = Json::parse(text, keep, false);
  const Json& cells = at(notebook, "cells");
  if (notebook.is_discarded()) {
    throw base::Error(kCannotRead, path, "it is no JSON: cut off, or not a notebook");
  }
  if (!cells.is_array() || !at(notebook, "nbformat").is_number_integer()) {
    throw base::Error(kCannotRead, path, "it is no notebook of format 4: it has no cells");
  }
  NotebookSummaries found;
  Collector collector(found);
  for (const Json& cell : cells) {
    if (at(cell, "cell_type") == "code") ++found.code_cells;
    const Json& outputs = at(cell, "outputs");
    if (!outputs.is_array()) continue;
    for (const Json& output : outputs) collector.add(at(at(output, "data"), kType));
  }
  collector.finish();
  return found;
}

bool is_notebook(const std::string& path) {
  if (!path.ends_with(".ipynb")) return false;
  const base::File file = base::File::try_open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY);
  std::array<char, record::kMagic.size()> begin{};
  const auto size = file.valid() ? base::read_at(file.fd(), begin, 0) : std::nullopt;
  return !size || !record::looks_like_recording(std::string_view(begin.data(), *size));
}

NotebookSummaries read_notebook(const std::string& path) {
  const base::File file =
      base::File::open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, "cannot open notebook");
  const auto size = base::file_size(file.fd());
  if (!size) throw base::Error(kCannotRead, path, "it is no regular file");
  if (*size > kMostBytes) {
    throw base::Error(kCannotRead, path,
                      fmt::format("it has {} MiB, more than {}", *size >> 20U, kMostBytes >> 20U));
  }
  std::string text(*size, '\0');
  const auto got = base::read_at(file.fd(), text, 0);
  if (!got) throw base::Error(kCannotRead, path, errno);
  text.resize(*got);
  return summaries_of(text, path);
}

}  // namespace tools
