#pragma once
// The words that travel: between kernel and sampler (marks) and into the recording. Plain structs;
// the bytes are in codec.hpp, the chunks of a file in log.hpp, one line of text each in text.hpp.
// Times are CLOCK_MONOTONIC nanoseconds. Sizes are bytes.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "record/value.hpp"

namespace record {

// ---- samples ----

enum class Kind : std::uint8_t {
  kCounter = 0,  // only grows: stored as it is, rates are derived
  kGauge = 1,    // the value at the moment
};

// One column of the samples that follow. `name` = "<level>.<metric>", the unit ends it:
// "process.cpu_time_ns", "node.core3.cpu_time_ns", "process.rss_bytes", "process.threads".
struct Column {
  std::string name;
  Kind kind = Kind::kCounter;
  // Of a custom monitor: its values are real numbers (real.hpp), and the unit isn't in the name.
  bool real = false;
  std::string unit{};
};

struct Schema {
  std::vector<Column> columns;
};

enum SampleFlag : std::uint8_t {
  kEdgeSample = 1,  // taken because a cell began or ended; not a tick
  kLateSample = 2,  // a tick that came more than half a period after its time
};

// What the probes read at one tick. `values` stands in the order of the schema before it.
struct Sample {
  std::int64_t time_ns = 0;      // when reading began
  std::int64_t duration_ns = 0;  // how long reading took
  std::int64_t cpu_ns = 0;       // CPU time of the sampler so far (its own cost, a counter)
  std::uint8_t flags = 0;
  std::vector<Value> values;
};

// ---- what the recording says about itself ----

// Written first, and again when something of it has changed.
struct Machine {
  std::int64_t time_ns = 0;
  std::int64_t wall_offset_ns = 0;  // CLOCK_REALTIME - CLOCK_MONOTONIC
  std::string host;
  std::string boot_id;
  std::string kernel_release;
  std::string jumper_version;
  std::string label;                  // what is recorded: notebook, script or command
  std::int64_t root_pid = 0;          // the process whose tree is level `process`
  std::int64_t root_start_ticks = 0;  // field 22 of its stat: identity = pid + start time
  std::int64_t sampler_pid = 0;
  std::int64_t uid = 0;
  std::int64_t cores_online = 0;
  std::int64_t memory_bytes = 0;       // of the node
  std::vector<std::int64_t> affinity;  // usable core numbers of the root process
  // Where the capacity of a level comes from.
  std::string process_source;
  std::string user_source;
  std::string job_source;  // "": this process is in no job
  std::string node_source;
};

// The rate in force from time_ns on.
struct Settings {
  std::int64_t time_ns = 0;
  double rate_hz = 10.0;
  std::string reason;  // why it isn't what the user asked for: "a tick would cost too much"
};

// A metric that can't be measured here, or not fully, and why. name = "<level>.<metric>".
struct Missing {
  std::int64_t time_ns = 0;
  std::string name;
  State state = State::kNotSupported;
  std::string reason;  // without the state's word: "no GPU driver is loaded"
};

// Something that columns are about and that has a name of its own: columns "node.gpu0.…" are those
// of the device "gpu0".
struct Device {
  std::int64_t time_ns = 0;
  std::string name;        // as in the columns
  std::string kind;        // "NVML", "DRM amdgpu"
  std::string model;       // as the driver calls it
  std::string id;          // UUID, or the bus address
  std::int64_t index = 0;  // as the driver counts
  Value memory_bytes = unknown(State::kNotYet);
  std::string text;  // what else must be known: "MIG slice of gpu0"
};

inline constexpr std::string_view kMonitorKind = "monitor";  // a Device that is a custom monitor

// ---- who used it ----

// One process of the tree over some time.
struct Consumer {
  std::int64_t pid = 0;
  std::int64_t start_ticks = 0;
  std::string name;              // comm: 15 bytes of whatever the process calls itself
  std::int64_t cpu_time_ns = 0;  // its own, in that time
  Value memory_bytes = unknown(State::kNotYet);  // at the end, or when last seen
  bool ended = false;
};

// The processes of the tree that used most between two edges of cells, largest first, at most
// kMostConsumers; what the others used is in `others` and `others_cpu_time_ns`.
struct Consumers {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t others = 0;  // how many
  std::int64_t others_cpu_time_ns = 0;
  std::vector<Consumer> list;
};

inline constexpr std::size_t kMostConsumers = 10;

// ---- cells ----

// The kernel's *own* counters (its process alone, children it has waited for apart), read by the
// kernel at the edge itself.
struct EdgeCounters {
  Value cpu_time_ns = unknown(State::kNotYet);
  Value children_cpu_time_ns = unknown(State::kNotYet);  // RUSAGE_CHILDREN, user + system
  Value io_read_bytes = unknown(State::kNotYet);         // /proc/self/io: rchar
  Value io_write_bytes = unknown(State::kNotYet);        // wchar
  Value io_read_ops = unknown(State::kNotYet);           // syscr
  Value io_write_ops = unknown(State::kNotYet);          // syscw
  Value storage_read_bytes = unknown(State::kNotYet);    // read_bytes
  Value storage_write_bytes = unknown(State::kNotYet);   // write_bytes
  Value peak_bytes = unknown(State::kNotYet);            // VmHWM of the kernel
  Value children_peak_bytes = unknown(State::kNotYet);   // RUSAGE_CHILDREN, ru_maxrss
  // RUSAGE_SELF (all threads) and RUSAGE_CHILDREN: ru_nvcsw, ru_nivcsw.
  Value voluntary_switches = unknown(State::kNotYet);
  Value involuntary_switches = unknown(State::kNotYet);
  Value children_voluntary_switches = unknown(State::kNotYet);
  Value children_involuntary_switches = unknown(State::kNotYet);
};

inline constexpr std::array kEdgeCounterFields{&EdgeCounters::cpu_time_ns,
                                               &EdgeCounters::children_cpu_time_ns,
                                               &EdgeCounters::io_read_bytes,
                                               &EdgeCounters::io_write_bytes,
                                               &EdgeCounters::io_read_ops,
                                               &EdgeCounters::io_write_ops,
                                               &EdgeCounters::storage_read_bytes,
                                               &EdgeCounters::storage_write_bytes,
                                               &EdgeCounters::peak_bytes,
                                               &EdgeCounters::children_peak_bytes,
                                               &EdgeCounters::voluntary_switches,
                                               &EdgeCounters::involuntary_switches,
                                               &EdgeCounters::children_voluntary_switches,
                                               &EdgeCounters::children_involuntary_switches};

inline constexpr std::int64_t kNoExecutionCount = -1;
inline constexpr std::size_t kMostSourceBytes = 8U << 20;  // longer source is cut

struct CellBegin {
  std::int64_t index = 0;  // the history entry #k, from 1
  std::int64_t execution_count = kNoExecutionCount;
  std::int64_t time_ns = 0;
  std::int64_t sample_ns = 0;  // time_ns of the edge sample in the recording; 0: there is none
  EdgeCounters counters;
  std::string source;             // UTF-8, or what was there instead
  std::int64_t source_bytes = 0;  // length before it was cut
};

enum class Outcome : std::uint8_t { kOk = 0, kError = 1, kInterrupted = 2, kDied = 3 };

// What an engine took beside the cell itself. All are unknown when the cell ran in the kernel, the
// later ones when it came to no end.
struct EngineTimes {
  Value start_ns = unknown(State::kNotSupported);   // until the process was there
  Value carry_ns = unknown(State::kNotSupported);   // the variables, there
  Value return_ns = unknown(State::kNotSupported);  // and back

  // Of a cell that ran in an engine.
  [[nodiscard]] bool any() const noexcept { return is_known(start_ns); }
};

struct CellEnd {
  std::int64_t index = 0;
  std::int64_t execution_count = kNoExecutionCount;  // In [n]; right only at the end
  std::int64_t time_ns = 0;
  std::int64_t sample_ns = 0;
  Outcome outcome = Outcome::kOk;
  EdgeCounters counters;
  EngineTimes engine = {};
};

// ---- groups of cells ----

enum class GroupStep : std::uint8_t {
  kBegun = 0,
  kEnded = 1,
  kDropped = 2,  // its cells are cells without a group
};

inline constexpr std::size_t kMostGroupNameBytes = 200;

// Cells that are one measurement: those that began after its begin and ended before its end. One
// that has no end, or not yet, has all cells after its begin. Groups don't overlap.
struct Group {
  std::int64_t index = 0;  // g1, g2, …
  std::int64_t time_ns = 0;
  GroupStep step = GroupStep::kBegun;
  std::string name;         // the user's, with kBegun; may be empty
  EngineTimes engine = {};  // with kEnded, where its cells ran in one
};

// ---- losses and the end ----

enum class GapReason : std::uint8_t {
  kSamplerStopped = 0,  // it didn't run: stopped or starved
  kSamplerLost = 1,     // it ended and another went on
  kClockJump = 2,
  kWriteFailed = 3,  // rows that could be kept nowhere
  kDropped = 4,      // the queue to the disk was full
  kReplaced = 5,     // somebody deleted, renamed or replaced the file: another one goes on
};

// No samples between two times, and why.
struct Gap {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  GapReason reason = GapReason::kSamplerStopped;
  std::string text;  // more, e.g. the error; may be empty
};

enum class EndCause : std::uint8_t {
  kClosed = 0,       // the session was closed, the extension unloaded
  kExited = 1,       // the root process ended by itself; detail = exit status
  kKilled = 2,       // by a signal; detail = its number
  kUnknown = 3,      // gone, and something else reaped it first
  kOutOfMemory = 4,  // killed for memory; detail = an OomKiller
};

enum class OomKiller : std::uint8_t {
  kLimit = 0,    // the limit of a control group, of the job
  kMachine = 1,  // the kernel, for the whole machine
  kDaemon = 2,   // systemd-oomd or another daemon
};

struct End {
  std::int64_t time_ns = 0;
  EndCause cause = EndCause::kClosed;
  std::int64_t detail = 0;
  // kOutOfMemory: of what hit the limit, as far as it is known.
  Value memory_peak_bytes = unknown(State::kNotYet);
  Value memory_limit_bytes = unknown(State::kNotYet);
  std::string text{};  // more: who closed it, which control group's limit; may be empty
};

// ---- what was asked of the kernel, or by it ----

// The Python stacks of the kernel's threads at one moment, as text; asked for by `jumper report`.
struct Stacks {
  std::int64_t time_ns = 0;
  std::string text;
};

// Memory came near a limit, and the running cell was interrupted, as the user had asked for.
struct NearLimit {
  std::int64_t time_ns = 0;
  std::string source;  // which limit
  std::int64_t memory_bytes = 0;
  std::int64_t limit_bytes = 0;
  std::vector<Consumer> largest{};  // of the tree, by memory, at that moment; their CPU time is 0
};

// A later kernel's user was told how this recording ended; that kernel appended it.
struct Told {
  std::int64_t wall_ns = 0;
};

// Rows are not in here: Sample and Schema are what samples travel in.
using Record = std::variant<Machine, Schema, Settings, Missing, CellBegin, CellEnd, Gap, End,
                            Device, Consumers, Stacks, NearLimit, Told, Group>;

}  // namespace record
