#pragma once
// One session as Python sees it: the watch and its own recording, read back. No Python in here.
// Any thread may call; in a forked child everything is empty.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bind/plots.hpp"
#include "store/keeping.hpp"
#include "store/recording.hpp"
#include "store/summary.hpp"
#include "watch/watch.hpp"

namespace bind {

struct Rendered {
  std::string text, html, json;
};

struct History : Rendered {
  std::string page;  // what the interactive page is given
};

struct CellInfo {
  std::int64_t index = 0;
  std::optional<std::int64_t> execution_count;
  std::int64_t begin_wall_ns = 0;
  double duration_s = 0;
  std::string outcome;
  bool running = false;
  std::optional<std::int64_t> group;  // that it is in
  std::string group_name;             // the user's; may be empty
};

struct Status {
  std::optional<std::string> path;
  std::string where;
  std::size_t size_bytes = 0;
  double rate_hz = 0;
  std::vector<std::string> levels;
  std::optional<std::int64_t> sampler_pid;
  int sampler_restarts = 0;
  std::optional<std::string> lost;
  std::optional<double> sampler_cpu_percent;
  std::size_t cells = 0;
  // Of the recordings beside it, itself included; absent where none is ever deleted.
  std::optional<std::int64_t> keep_days, keep_bytes;
  std::size_t kept = 0;
  std::int64_t kept_bytes = 0;
  std::vector<std::pair<double, std::string>> gaps;
  std::vector<std::pair<std::string, std::string>> missing;
};

// "process", "node" or "all" -> what the views take. Throws std::invalid_argument.
std::string checked_level(const std::string& level);

Rendered render(const store::CellSummary& summary, const std::string& level);

// The answers that a recording gives, live or not. `cells` are those to speak of: the recording's,
// or these and what only the kernel knows so far.
History history_of(const store::Recording& recording, const std::vector<store::Group>& groups,
                   const std::vector<store::Cell>& cells, const std::vector<std::string>& sources);
CellInfo info_of(const store::Recording& recording, const std::vector<store::Group>& groups,
                 const store::Cell& cell);
// nullopt: there is no such group, or it has no cells.
std::optional<store::CellSummary> group_summary_of(const store::Recording& recording,
                                                   const std::vector<store::Group>& groups,
                                                   const std::vector<store::Cell>& cells,
                                                   std::int64_t index);

class Session {
 public:
  Session(watch::WatchOptions options, const std::string& directory);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  [[nodiscard]] watch::Watch& watch() noexcept { return *watch_; }

  std::optional<store::CellSummary> summary(std::int64_t index);
  std::optional<store::CellSummary> group_summary(std::int64_t index);
  History history();
  Plot plot(const store::PlotRequest& request);
  std::vector<CellInfo> cells();
  std::optional<std::string> code(std::int64_t index);
  // Hands `take` the cells of these indices with their code, in that order, while nothing else
  // reads the recording. False when one isn't there.
  using Take =
      std::function<void(const store::Recording&, const std::vector<store::Group>&,
                         const std::vector<store::Cell>&, std::vector<std::string> sources)>;
  bool with_cells(const std::vector<std::int64_t>& indices, const Take& take);
  std::string totals();  // the figures of the whole recording, as a summary's JSON
  // A copy into an empty file. Throws base::Error.
  void save(int fd);
  Status status();

 private:
  struct Known {  // cells with the code of those that the recording doesn't have yet
    std::vector<store::Cell> cells;
    std::vector<std::optional<std::string>> sources;
    std::vector<store::Group> groups;
  };
  Known know();  // with mutex_ held
  [[nodiscard]] std::string source_of(const Known& known, std::size_t place) const;
  [[nodiscard]] std::vector<std::string> sources_of(const Known& known) const;
  std::optional<double> own_cost_percent() const;
  void count_kept(Status& status) const;

  const std::vector<std::string> levels_;
  const store::KeepLimits limits_;
  std::unique_ptr<watch::Watch> watch_;
  std::mutex mutex_;
  int recording_fd_;
  store::Recording recording_;
};

}  // namespace bind
