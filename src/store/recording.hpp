#pragma once
// A recording as it is asked: an index of its chunks, its cells, gaps and what is missing. Rows
// are read when a window of time is asked for, so an open recording takes little memory however
// long it is (about 48 bytes a second recorded).

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "record/log.hpp"
#include "record/records.hpp"
#include "store/groups.hpp"

namespace store {

// One entry of the history. `end` is absent while the cell runs, and for ever when the kernel
// died in it (then Recording::end() or the last sample says when).
struct Cell {
  record::CellBegin begin;  // its `source` is left empty here: ask Recording::source()
  std::optional<record::CellEnd> end;
  std::size_t source_offset = 0;  // of the chunk that holds the source
  std::int64_t group = 0;         // which it is in; 0: none
  [[nodiscard]] std::int64_t execution_count() const noexcept;  // the end's, else the begin's
};

// The rows of one schema in a window of time, column after column.
struct Window {
  std::shared_ptr<const record::Schema> schema;
  record::Rows rows;
  // The index of a column by name, or nullopt.
  [[nodiscard]] std::optional<std::size_t> column(std::string_view name) const noexcept;
};

class Recording {
 public:
  // Opens a file, finished or still written. Throws base::Error: not there, not permitted, not a
  // recording, written by a newer version. Damage isn't an error: damages() tells. Of a file over
  // 4 GiB (no recording is: they are thinned at 256 MiB) the rest isn't read.
  static Recording open(const std::string& path);

  // Follows a recording through a descriptor that stays the caller's (the kernel's own recording;
  // refresh() reads, the first time too). `fd` < 0: nothing yet.
  static Recording follow(int fd);

  // Where the recording goes on when the disk was full: bytes from `offset` on lie in `memfd`
  // (owned by the caller), from 0. memfd < 0: all of it is in the file again.
  void set_spill(int memfd, std::size_t offset) noexcept;

  // While true, no file is touched: refresh() fails, and what must be read from it is left out.
  void pause(bool paused) noexcept;

  // Reads what was added since. Cheap when nothing was. Opened by name, it goes on in the file that
  // has taken the place of the one it read (a recording is thinned by renaming); then all is read.
  // False with errno set when reading failed (what was known stays known). Pointers to cells,
  // schemas and the like don't outlive it. A torn end isn't damage while somebody may still write:
  // damages() has it after open(), or when the recording has an end.
  bool refresh();

  [[nodiscard]] const std::optional<record::Machine>& machine() const noexcept;  // the newest
  [[nodiscard]] const std::vector<record::Machine>& machines() const noexcept;
  [[nodiscard]] const std::vector<record::Settings>& settings() const noexcept;
  [[nodiscard]] const std::vector<record::Missing>& missing() const noexcept;
  [[nodiscard]] const std::vector<record::Gap>& gaps() const noexcept;
  [[nodiscard]] const std::vector<record::Device>& devices() const noexcept;
  // In the order of the file; each is about the time between two edges of cells.
  [[nodiscard]] const std::vector<record::Consumers>& consumers() const noexcept;
  [[nodiscard]] const std::optional<record::Stacks>& stacks() const noexcept;  // the newest
  [[nodiscard]] const std::vector<record::NearLimit>& near_limits() const noexcept;
  // A later kernel has told its user how this recording ended.
  [[nodiscard]] bool told() const noexcept;
  [[nodiscard]] const std::vector<Cell>& cells() const noexcept;    // by index, ascending
  [[nodiscard]] const std::vector<Group>& groups() const noexcept;  // by index, ascending
  [[nodiscard]] const std::optional<record::End>& end() const noexcept;
  [[nodiscard]] const std::vector<record::Damage>& damages() const noexcept;
  [[nodiscard]] std::int64_t first_sample_ns() const noexcept;  // 0: none
  [[nodiscard]] std::int64_t last_sample_ns() const noexcept;
  [[nodiscard]] std::size_t size_bytes() const noexcept;

  [[nodiscard]] const Cell* cell(std::int64_t index) const noexcept;  // history entry #k
  // The latest run with In [n]; nullptr when there is none.
  [[nodiscard]] const Cell* latest_with_execution_count(std::int64_t count) const noexcept;
  // The cell's code, read from the recording. "" when it can't be read.
  [[nodiscard]] std::string source(const Cell& cell) const;

  // All rows with begin_ns <= time_ns <= end_ns in order, one Window per schema (usually one).
  // Throws base::Error when that is more than kMostWindowValues values: ask for less at once.
  [[nodiscard]] std::vector<Window> rows_between(std::int64_t begin_ns, std::int64_t end_ns) const;
  static constexpr std::size_t kMostWindowValues = 1U << 27;

  // The same rows one by one, a chunk in memory at a time: `visit` is given the row's number in
  // `rows` and returns false to stop.
  using VisitRow = std::function<bool(const std::shared_ptr<const record::Schema>& schema,
                                      const record::Rows& rows, std::size_t row)>;
  void visit_rows(std::int64_t begin_ns, std::int64_t end_ns, const VisitRow& visit) const;
  // The same, but columns for which `seldom` is true have a value at least in the first row of a
  // chunk (about a second) and may be kNotYet in the others: reading them costs a tenth.
  using Choice = std::function<bool(const record::Column& column)>;
  void visit_rows(std::int64_t begin_ns, std::int64_t end_ns, const VisitRow& visit,
                  const Choice& seldom) const;

  // The time of the last sample up to time_ns, and of the first one from time_ns on; 0: none.
  [[nodiscard]] std::int64_t sample_at_or_before(std::int64_t time_ns) const;
  [[nodiscard]] std::int64_t sample_at_or_after(std::int64_t time_ns) const;

  // The schemas of the rows, in file order.
  [[nodiscard]] const std::vector<std::shared_ptr<const record::Schema>>& schemas() const noexcept;

  // Writes what the recording holds into the empty file `fd`: its bytes up to the last whole chunk,
  // as they are now. A recording without an end gets one of `now_ns` there, which says that it is a
  // copy: wherever it is opened, its kernel isn't taken for killed. False with errno set; some of
  // it may then be there.
  bool copy_to(int fd, std::int64_t now_ns) const;

  // False when no more samples or cells can come: it has an end, or it was opened by name and
  // neither its root process (pid + start time) nor a sample of the last 5 s says otherwise.
  [[nodiscard]] bool is_live() const;

  // The wall-clock time (ns since 1970) of a recorded time, by the largest offset before it: when
  // the clock is set back, labels stay in order.
  [[nodiscard]] std::int64_t wall_ns(std::int64_t time_ns) const noexcept;

  Recording(Recording&&) noexcept;
  Recording& operator=(Recording&&) noexcept;
  ~Recording();

 private:
  struct State;
  explicit Recording(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

}  // namespace store
