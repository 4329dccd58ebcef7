#pragma once
// The kernel's side of watching: creates the recording, starts the sampler, marks cells, and goes
// on whatever happens to the sampler. Any thread may call; in a forked child nothing does anything.
//
// Threads: the caller's, and one of ours (all signals blocked) that notices the sampler's end and
// starts another, and sends again what wasn't acknowledged. Acknowledgements lie in the socket
// until the next mark, a second at most, or until somebody waits for one: to wake our thread for
// each would cost every cell more than the mark itself.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/file.hpp"
#include "base/process.hpp"
#include "base/socket.hpp"
#include "probe/edge.hpp"
#include "record/marks.hpp"
#include "watch/asides.hpp"
#include "watch/custom_monitors.hpp"
#include "watch/place.hpp"
#include "watch/succession.hpp"
#include "watch/unacknowledged.hpp"
#include "watch/wake.hpp"

namespace watch {

struct WatchOptions {
  std::string program;  // path of `jumper`; "": none was found, nothing is sampled
  std::string label;
  double rate_hz = 10.0;
  bool process_level = true;
  bool node_level = true;
  std::int64_t most_bytes = 0;   // of the recording, then it is thinned; 0: the sampler's default
  std::int64_t keep_days = -1;   // older recordings in its directory are deleted; -1: none is
  std::int64_t keep_bytes = -1;  // of all together; -1: none is deleted
  // The Python stacks of this process's threads as text, or a sentence that says why there are
  // none. Called by our thread, on request only; empty: this process is no Python of ours.
  std::function<std::string()> stacks{};
};

struct WatchState {
  std::optional<std::int64_t> sampler_pid;  // absent: none runs at the moment
  int restarts = 0;
  std::string lost;  // why nothing is sampled at the moment; "" when all is well
  double rate_hz = 10.0;
  std::string where;  // a sentence
};

class Watch {
 public:
  // Starts the sampler. Doesn't throw when that fails: state().lost and take_warnings() say so.
  Watch(WatchOptions options, Place place);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();  // close(); only in the owner

  // Marks the begin of a cell; its index, from 1. 0 in a forked child and after close(). Reads
  // this process's own counters (some 30 us) and doesn't wait for anybody.
  std::int64_t begin(std::string_view source, std::optional<std::int64_t> execution_count);
  void end(std::int64_t index, record::Outcome outcome, std::optional<std::int64_t> execution_count,
           const record::EngineTimes& engine = {});

  // The cells that begin from now on are one measurement; its index, from 1. A cell that runs isn't
  // in it, nor is one that runs when it ends. 0 in a forked child, after close() and while a group
  // is open.
  std::int64_t begin_group(std::string_view name);
  // Ends the group that is open; `drop`: its cells are cells without a group. False when none is.
  bool end_group(bool drop, const record::EngineTimes& engine = {});

  // Waits until the end of the cell and its sample are in the recording, `timeout_ns` at most.
  // False when they aren't (late, or there is no sampler).
  bool wait(std::int64_t index, std::int64_t timeout_ns);

  // Waits until every mark so far is in the recording, `timeout_ns` at most: after begin(), the
  // edge sample is then older than what the cell does.
  bool flush(std::int64_t timeout_ns);

  void set_rate(double rate_hz);
  // From `percent` of a memory limit on, the running cell is interrupted (SIGINT, as by the stop
  // button); 0: off.
  void set_guard(double percent);
  // Starts a custom monitor, now and for each sampler that follows. Doesn't wait for it. Throws
  // base::Error when one of that name runs.
  void add_monitor(MonitorSpec spec);
  bool remove_monitor(const std::string& name);  // false: there is none
  [[nodiscard]] std::vector<MonitorInfo> monitors();
  // CUDA_VISIBLE_DEVICES is another one than this process began with; nullopt: it is unset.
  void set_visible_devices(std::optional<std::string> list);
  // The process `pid`, a child of this one, and all that descends from it, isn't of the tree until
  // the opposite is said; then it is, with what it uses from then on. Nothing happens when there is
  // no such process.
  void set_apart(pid_t pid, bool apart);
  // Since the last call: memory came near a limit, and a cell was interrupted.
  std::optional<record::NearLimit> take_near_limit();

  [[nodiscard]] WatchState state() const;
  // Sentences that the user must be told, each once. That the file system doesn't answer only when
  // it hasn't for a second.
  std::vector<std::string> take_warnings();
  // Marks that no sampler has acknowledged; also after close(), when nobody will any more.
  [[nodiscard]] std::vector<PendingCell> pending_cells();
  [[nodiscard]] std::vector<record::Group> pending_groups();

  // Another number after the user's code has closed it, or when the recording goes on in another
  // file; -1 when it can't be opened again. For one reader: it closes what an earlier call gave.
  [[nodiscard]] int recording_fd();
  // "": in memory only. Another one when the recording was moved.
  [[nodiscard]] std::string path() const;
  // True while its file system doesn't answer: who reads it now may wait for long.
  [[nodiscard]] bool stalled() const;
  // Where the recording goes on in memory while the disk is full: a descriptor that stays open as
  // long as this object, and the offset; or {-1, 0}.
  [[nodiscard]] std::pair<int, std::size_t> spill() const;

  // True in the process that made this object. In a forked child it must not be destroyed either
  // (our thread isn't there): leave it.
  [[nodiscard]] bool is_owner() const noexcept;
  // The same, and before close().
  [[nodiscard]] bool is_live() const noexcept;

  // Ends the recording and the sampler, within 2 s. Idempotent. `reason` is more about who closed
  // it: "the kernel is restarted"; may be empty.
  void close(std::string_view reason = {});

 private:
  void run();
  bool start_thread();
  bool start_sampler();
  void sampler_ended();
  void take_messages();
  void take(record::Message message, base::File descriptor);
  bool send_settings();
  bool send_asides();
  void interrupt(record::NearLimit near);
  bool send_monitors();
  bool send_pending();  // false: the socket is full, try again when it is writable
  base::SendResult send(const record::Message& mark, int descriptor = -1);
  void enqueue(record::Message mark);
  void plan_restart();
  void look_at_descriptors();
  void take(const record::Moved& moved, base::File descriptor);
  void take(const record::Stalled& stalled);
  bool wait_until(std::int64_t timeout_ns, std::unique_lock<std::mutex>& lock,
                  const std::function<bool()>& is_done);
  void warn(std::string sentence);
  void warn_of_stall();

  const WatchOptions options_;
  std::string where_;  // for people
  const pid_t owner_;
  RecordingFile recording_;
  probe::EdgeReader edge_;

  std::mutex close_mutex_;
  mutable std::mutex mutex_;
  std::condition_variable acknowledged_;
  Unacknowledged pending_;
  std::int64_t next_index_ = 1;
  std::int64_t groups_ = 0;  // so far
  bool group_is_open_ = false;
  int waiting_ = 0;  // callers that wait for an acknowledgement
  double rate_hz_;
  double guard_percent_ = 0;
  std::optional<record::VisibleDevices> visible_devices_;  // nullopt: as the process began
  Asides asides_;
  bool settings_unsent_ = false;  // rate, guard, devices: to the sampler that runs now
  CustomMonitors monitors_;
  std::optional<record::NearLimit> near_limit_;
  std::map<std::int64_t, std::int64_t> running_;  // index -> begin_ns of the cells that run
  base::File socket_;
  base::FileIdentity socket_identity_;
  std::optional<base::FileIdentity> pidfd_identity_;  // tells processes apart since Linux 6.9
  base::File root_pidfd_;
  std::optional<base::FileIdentity> root_pidfd_identity_;
  base::HiddenChild sampler_;
  bool sampler_runs_ = false;
  bool closing_ = false;  // the sampler was told to leave
  bool stop_ = false;     // our thread ends
  bool stacks_asked_ = false;
  std::atomic<bool> closed_ = false;
  int restarts_ = 0;
  std::deque<std::int64_t> starts_ns_;  // of the last hour
  std::int64_t restart_at_ns_ = 0;      // 0: none is planned
  std::string lost_;
  std::string last_words_;  // of the sampler, why it can't go on; "": it has said nothing
  std::int64_t stalled_since_ns_ = 0;
  base::File spill_;
  std::optional<base::FileIdentity> spill_identity_;
  // Kept open: a reader may still hold their numbers.
  std::vector<std::pair<base::File, std::optional<base::FileIdentity>>> old_spills_;
  std::int64_t spill_offset_ = 0;
  std::string spill_reason_;
  std::vector<std::string> warnings_;  // not yet taken
  std::vector<std::string> warned_;

  Wake wake_;
  std::thread thread_;
};

}  // namespace watch
