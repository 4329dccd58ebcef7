#pragma once
// The thread that writes the recording: it alone may wait for the disk. It seals the rows of each
// second, acknowledges marks once they are written, and goes on in memory while the disk is full.

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "base/file.hpp"
#include "record/log.hpp"
#include "tools/row_queue.hpp"
#include "tools/upkeep.hpp"

namespace tools {

// Where the recording stood when an earlier sampler was lost, found by resume_point().
struct ResumePoint {
  std::size_t offset = 0;  // behind the last whole chunk
  std::uint32_t sequence = 0;
  std::optional<record::Sample> last_row;
  record::Schema schema;  // of last_row
};

// Walks over what is there already, a block at a time: reads the whole once, and has no more of it
// in memory than the longest chunk. What can't be read isn't written over: then `offset` is behind
// all of it.
ResumePoint resume_point(int fd);

struct DiskOptions {
  UpkeepOptions upkeep;  // the recording's file
  int spill_fd = -1;     // an earlier sampler's memfd, or -1
  std::size_t spill_offset = 0;
  std::size_t offset = 0;  // where to go on, in the spill when there is one
  std::uint32_t sequence = 0;
  int socket_fd = -1;  // for acknowledgements and spills; -1: nobody listens
};

class Disk {
 public:
  // Memory that a recording may take while its file takes no bytes.
  static constexpr std::size_t kMostSpillBytes = 64U << 20;

  Disk(const DiskOptions& options, RowQueue& queue);
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;
  // The queue must have got its last item.
  ~Disk() { thread_.join(); }

  // Since when the thread has been at one item, or 0: a file system that hangs keeps it there.
  // Any thread may ask.
  [[nodiscard]] std::int64_t busy_since_ns() const noexcept {
    return busy_since_ns_.load(std::memory_order_relaxed);
  }

 private:
  void run();
  bool write(const QueueItem& item);
  void spill(int code);
  void try_to_return(std::int64_t now_ns);
  bool send(const record::Message& message, int descriptor = -1) const;

  DiskOptions options_;
  RowQueue& queue_;
  Upkeep upkeep_;
  record::LogWriter writer_;
  base::File spill_;
  std::size_t file_end_ = 0;  // of the file, while the recording goes on in spill_
  std::int64_t next_try_ns_ = 0;
  std::optional<record::Ack> unsent_;  // the newest one that the socket had no room for
  record::Gap lost_;                   // rows that could be kept nowhere
  std::atomic<std::int64_t> busy_since_ns_ = 0;
  std::thread thread_;  // last: it uses all the others
};

}  // namespace tools
