#pragma once
// A source of the machine that the tick reads: some columns and how their values are got. Node and
// tree are none (they need each other); everything else is.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "record/records.hpp"

namespace probe {

// What a source needs to know of the tick it is read at.
struct Turn {
  std::int64_t now_ns = 0;
  // Read everything now. Else what costs much and changes slowly may repeat its last value: full
  // are the ticks at the edges of cells, and one a second.
  bool full = true;
  std::span<char>
      buffer;  // for one text at a time, 32 KiB or more; longer texts: a buffer of its own
};

class Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;

  // One word, lower case ("network"), and what is read, for people ("/proc/net/dev").
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  [[nodiscard]] virtual std::string_view origin() const noexcept = 0;

  // In the order of read(). A source that this machine doesn't have at all has no columns, or
  // columns whose values say why; a column whose unit is a rate or a share ends so
  // ("_percent"), all values are integers >= 0 or record::unknown().
  [[nodiscard]] virtual const std::vector<record::Column>& columns() const noexcept = 0;
  // True when columns() is another list than at the last call (a device was found by a thread
  // that looks for them). Asked once a tick, before read(). Columns are only ever added.
  virtual bool columns_changed() noexcept { return false; }
  // The most columns it may ever have.
  [[nodiscard]] virtual std::size_t most_columns() const noexcept { return columns().size(); }

  // Devices that columns are about and that weren't told so far. Asked once a tick, after
  // columns_changed().
  virtual std::vector<record::Device> take_devices() { return {}; }
  // The processes of the tree, once a second, for those that ask a driver about them. Never waits.
  virtual void set_processes(std::span<const pid_t> /*pids*/) noexcept {}

  // CUDA_VISIBLE_DEVICES was set in the running process; nullopt: unset. Never waits.
  virtual void set_visible_devices(std::optional<std::string_view> /*list*/) {}

  // True: read on full turns only, since what it tells is a sum that changes slowly; between, its
  // last values are repeated.
  [[nodiscard]] virtual bool seldom() const noexcept { return false; }

  // Fills `values`, as many as columns(). No allocation, no lock, nothing that may hang: what can
  // (a driver, a remote file system) belongs on a thread of its own.
  virtual void read(std::span<record::Value> values, const Turn& turn) noexcept = 0;
};

}  // namespace probe
