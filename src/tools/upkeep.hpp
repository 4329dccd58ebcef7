#pragma once
// What becomes of the recording's file while it is written: it is watched for being moved or
// deleted, thinned when it is long, and older recordings beside it are deleted. Used by the disk's
// thread alone; what takes long is an errand of another one, so nothing here waits for more than
// some calls of the file system. The kernel is told of each change.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/file.hpp"
#include "record/log.hpp"
#include "record/marks.hpp"
#include "store/keeping.hpp"
#include "tools/errand.hpp"
#include "tools/thinning.hpp"
#include "tools/whereabouts.hpp"

namespace tools {

struct UpkeepOptions {
  static constexpr std::size_t kMostBytes = std::size_t{256} << 20;

  int recording_fd = -1;                    // owned from here on
  std::size_t most_bytes = kMostBytes;      // of the recording: then it is thinned to about half
  std::optional<store::KeepLimits> limits;  // absent: nothing is ever deleted
};

class Upkeep {
 public:
  // Tells the kernel; false: try again later.
  using Tell = std::function<bool(const record::Message& message, int descriptor)>;

  Upkeep(const UpkeepOptions& options, Tell tell);
  Upkeep(const Upkeep&) = delete;
  Upkeep& operator=(const Upkeep&) = delete;
  ~Upkeep();

  // Of the recording's file; another one after look_after() when it has moved.
  [[nodiscard]] int fd() const noexcept { return file_.fd(); }

  // Between two items. `spilled`: where the file ends, while `writer` writes to a memfd; else it
  // writes to fd(), and goes on in another file when the recording has moved there.
  void look_after(record::LogWriter& writer, std::optional<std::size_t> spilled,
                  std::int64_t now_ns);

  // Before the last item: what lies in a deleted file gets a name, however long that takes.
  void finish(record::LogWriter& writer, std::optional<std::size_t> spilled);

 private:
  // Another file that is about to take the recording's place.
  struct Successor {
    base::File file;
    std::string path;
    bool thinned = false;
    bool good = false;  // written by the errand, read when that is finished
    int code = 0;
    Thinned at;
    std::unique_ptr<Errand> errand;  // last: it uses all the others
  };

  void keep_if_due(std::int64_t now_ns);
  void look(std::int64_t now_ns, std::size_t end);
  void begin_copy(std::int64_t now_ns, std::size_t end);
  void begin_thinning(std::size_t end);
  void follow_up(record::LogWriter& writer, std::optional<std::size_t> spilled,
                 std::int64_t now_ns);
  bool move_to_copy(record::LogWriter& writer, std::optional<std::size_t> spilled);
  bool move_to_thinned(record::LogWriter& writer);
  void go_without_name(const std::string& reason, std::int64_t now_ns);
  void drop_successor();
  void tell(record::Moved moved, int descriptor);

  UpkeepOptions options_;
  Tell tell_;
  base::File file_;
  std::string path_;  // "": it has none, in memory only
  std::int64_t look_ns_ = 0;
  std::int64_t keep_ns_ = 0;
  std::int64_t copy_ns_ = 0;  // not before
  std::size_t thin_at_;
  bool unnamed_ = false;  // the kernel was told
  std::optional<record::Moved> untold_;
  int untold_fd_ = -1;
  std::unique_ptr<Successor> next_;
  std::unique_ptr<Errand> keeping_;
};

}  // namespace tools
