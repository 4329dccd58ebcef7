#pragma once
// How full the file systems are that a user writes to.

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "probe/missing.hpp"
#include "probe/source.hpp"

namespace probe {

// A folder that a user cares for, and what it is to them.
struct Place {
  std::string path;  // absolute
  std::string word;  // "working directory", "HOME"
};

// The working directory of `root_pid`, its HOME and its temporary directory, as they are now.
// `root_pid` 0: of this process.
std::vector<Place> usual_places(const std::string& root, pid_t root_pid);

struct Fill {
  std::int64_t used_bytes = 0;
  std::int64_t capacity_bytes = 0;  // used + what a user may still write
  int error = 0;                    // of errno; 0: it was measured
};

// statvfs(3). A file system without a size (proc) is ENOSYS.
Fill measure_fill(const std::string& path) noexcept;

// node.file_system0_used_bytes, node.file_system0_capacity_bytes and so on, of at most four file
// systems, each once however many places are on it. Which ones is decided when this is made.
//
// A server that is gone may let statvfs hang for ever, so each file system has a thread of its own
// that asks it every 10 s (all signals blocked). What hasn't answered for 2 s is unknown until it
// does. The thread and this object share nothing but one atomic number and what it stands for, so
// the destructor doesn't wait for an answer that is out: the thread ends when it comes, or with the
// process (waiting for a file system can be killed). A tick costs 1 us of CPU.
class FileSystems final : public Source {
 public:
  static constexpr std::size_t kMost = 4;
  using Measure = std::function<Fill(const std::string& path)>;

  FileSystems(const std::string& root, pid_t root_pid, const std::vector<Place>& places,
              MissingList& missing, const Measure& measure = measure_fill);
  ~FileSystems() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "file_systems"; }
  [[nodiscard]] std::string_view origin() const noexcept override { return "statvfs"; }
  [[nodiscard]] const std::vector<record::Column>& columns() const noexcept override {
    return columns_;
  }
  [[nodiscard]] bool seldom() const noexcept override { return true; }
  void read(std::span<record::Value> values, const Turn& turn) noexcept override;

  // One for each pair of columns: name "file_system0", model = its type ("nfs4"), id = where it is
  // mounted, text = the places ("working directory, HOME"). They don't change.
  [[nodiscard]] const std::vector<record::Device>& devices() const noexcept { return devices_; }
  // Each once.
  std::vector<record::Device> take_devices() override {
    return std::exchange(told_, true) ? std::vector<record::Device>() : devices_;
  }

 private:
  enum Turns : int { kIdle, kMeasure, kFinished, kStop };
  struct Shared {
    std::string path;
    Measure measure;
    Fill fill;  // the sampler's thread's in kIdle and kFinished, else the other thread's
    std::atomic<int> turn = kMeasure;
  };
  struct Asked {
    std::shared_ptr<Shared> shared;
    std::thread thread;  // not when none could be started
    std::int64_t asked_ns = 0;
    Fill fill;
    record::State state = record::State::kNotYet;
    record::State said = record::State::kMeasured;  // the last state whose reason was said
  };

  static void run(Shared& shared) noexcept;
  void ask(Asked& asked, std::int64_t now_ns) noexcept;
  // Says that the file system is in `state` because it `does` ("doesn't answer").
  void set_unknown(Asked& asked, record::State state, std::string_view does,
                   int error = 0) noexcept;

  MissingList& missing_;
  std::vector<Asked> asked_;
  std::vector<record::Column> columns_;
  std::vector<record::Device> devices_;
  bool told_ = false;
};

}  // namespace probe
