#pragma once
// The reader of custom monitors: a source of the tick whose columns come and go as monitors do. One
// thread of its own, from the first monitor on, reads their pipes and parses what they print; the
// tick takes the newest values, allocates only when there are new columns, and never waits.
//
// A value holds until the monitor prints another one. Whoever is cut off (monitor_stream.hpp) has
// its pipe closed, which ends it; its columns stay, unknown, and are taken up again by a monitor of
// the same name with the same metrics.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/file.hpp"
#include "probe/source.hpp"
#include "record/marks.hpp"
#include "tools/latest.hpp"
#include "tools/monitor_stream.hpp"

namespace tools {

inline constexpr std::string_view kRemoved = "it was removed";

// One has begun (`reason` empty), was cut off, or was removed.
struct MonitorNews {
  std::string name;
  std::vector<std::string> levels;  // of its metrics; "node" where it has named none
  std::string reason;
};

class Monitors : public probe::Source {
 public:
  static constexpr std::size_t kMost = 16;          // at a time
  static constexpr std::size_t kMostColumns = 128;  // of all that there ever were

  // `levels`: those that are measured here.
  explicit Monitors(std::set<std::string, std::less<>> levels);
  ~Monitors() override;

  // From now on what comes out of `pipe` is the monitor's. Takes the place of one with that name.
  void add(const record::Monitor& monitor, base::File pipe);
  void remove(const std::string& name);

  [[nodiscard]] std::string_view name() const noexcept override { return "monitors"; }
  [[nodiscard]] std::string_view origin() const noexcept override { return "custom monitors"; }
  [[nodiscard]] const std::vector<record::Column>& columns() const noexcept override {
    return columns_;
  }
  bool columns_changed() noexcept override;
  [[nodiscard]] std::size_t most_columns() const noexcept override { return kMostColumns; }
  std::vector<record::Device> take_devices() override;
  void read(std::span<record::Value> values, const probe::Turn& turn) noexcept override;

  // What has happened since the last call; after each tick. Left out while the other thread has it.
  std::vector<MonitorNews> take_news();

 private:
  struct Wish {
    record::Monitor monitor;
    base::File pipe;  // invalid: remove it
  };
  struct Known {  // everything that was ever named; the next one has the same and more
    std::vector<record::Column> columns;
    std::vector<record::Device> devices;
  };
  struct Round {
    std::shared_ptr<const Known> known;
    std::array<record::Value, kMostColumns> values;
  };
  struct Running {
    record::Monitor monitor;
    base::File pipe;
    MonitorStream stream;
    std::vector<std::size_t> places;  // of its metrics' columns; empty: not named so far
    bool over = false;
  };

  void wish(Wish wish);
  void wake() const noexcept;
  // ---- the other thread ----
  void run();
  void take_wishes();
  void read_from(Running& one);
  void look_at(Running& one);
  bool place(Running& one);
  void publish();
  void tell(const Running& one, std::string reason);
  void cut(Running& one, const std::string& reason);

  const std::set<std::string, std::less<>> levels_;
  // The tick's.
  std::vector<record::Column> columns_;
  std::shared_ptr<const Known> known_;
  std::size_t devices_taken_ = 0;

  Latest<Round> latest_;
  std::mutex inbox_;
  std::vector<Wish> wishes_;
  std::vector<MonitorNews> news_;
  std::atomic<bool> has_news_ = false;
  std::atomic<bool> stop_ = false;
  base::File wake_read_, wake_write_;

  // The other thread's.
  std::vector<Running> running_;
  std::shared_ptr<const Known> named_;
  std::vector<record::Value> values_;
  std::thread thread_;  // last: it uses all the others
};

}  // namespace tools
