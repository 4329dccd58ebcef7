#pragma once
// What kernel and sampler tell each other: one message on the socket pair = one byte of kind, then
// the payload. Cells, groups and settings are coded as in the recording. Both sides treat what
// comes in as hostile bytes.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "record/records.hpp"

namespace record {

inline constexpr std::size_t kMostMessageBytes = 64U << 10;
// Longer source goes beside the message, as a sealed memfd.
inline constexpr std::size_t kMostInlineSourceBytes = 32U << 10;

// The sampler -> the kernel: the mark, and all that were sent before it, are in the recording, this
// one with the edge sample of sample_ns.
struct Ack {
  std::int64_t index = 0;
  bool end = false;  // of the cell's end, else of its begin
  std::int64_t sample_ns = 0;
};

// The sampler -> the kernel: the recording goes on in the memfd that comes with this message
// (over = false; what it holds follows the file's first `offset` bytes), or is whole in the file.
struct Spill {
  std::int64_t offset = 0;
  bool over = false;
  std::string reason;  // why the file takes no more: "No space left on device"
};

// The kernel -> the sampler, before anything else: what is recorded. Not on the command line, which
// every user of the machine can read.
struct Hello {
  std::string label;
};

// The kernel -> the sampler: finish the recording and leave. The sampler -> the kernel: it can't go
// on, and why.
struct Close {
  std::string reason;  // "the kernel is restarted"; may be empty
};

// The sampler -> the kernel: somebody asks for the stacks of the kernel's threads; the answer is a
// Stacks.
struct AskStacks {};

// The kernel -> the sampler: say when memory reaches `percent` of a limit, in a NearLimit; 0:
// don't.
struct Guard {
  double percent = 0;
};

enum class MoveReason : std::uint8_t {
  kThinned = 0,   // a thinned copy took its place
  kRenamed = 1,   // somebody gave the file another name
  kReplaced = 2,  // somebody deleted or replaced the file: another one has all of it
  kUnnamed = 3,   // deleted, and no other file can be made (`text`): it has no name for now
};

// The sampler -> the kernel: the recording has another path, and but for kRenamed and kUnnamed is
// another file, whose descriptor comes with this message.
struct Moved {
  MoveReason reason = MoveReason::kThinned;
  std::string path;  // kUnnamed: the one that it had
  std::string text;
};

// The sampler -> the kernel: the file system with the recording doesn't answer. Until it does
// (over) who reads the file may have to wait as long.
struct Stalled {
  bool over = false;
};

// The kernel -> the sampler: CUDA_VISIBLE_DEVICES is another one than when the process began.
struct VisibleDevices {
  bool set = false;
  std::string list;
};

// The kernel -> the sampler: the pipe that comes with this message is a custom monitor's; without
// a pipe: close that monitor's, it was removed.
struct Monitor {
  std::string name;
  std::string about;  // what it is, for people: a command, a class
  double rate_hz = 1;
};

// The sampler -> the kernel: a custom monitor has named its metrics, or was cut off.
struct MonitorState {
  std::string name;
  std::string reason;  // why it was cut off; "": it wasn't
};

// The kernel -> the sampler: this process and all that descends from it isn't of the tree until the
// opposite is said; then it is, with what it uses from then on.
struct Apart {
  std::int64_t pid = 0;
  std::int64_t start_ticks = 0;
  bool apart = true;
};

using Message =
    std::variant<CellBegin, CellEnd, Settings, Close, Ack, Spill, Hello, AskStacks, Stacks, Guard,
                 NearLimit, Moved, Stalled, VisibleDevices, Group, Monitor, MonitorState, Apart>;

void encode_message(const Message& message, std::string& out);

// nullopt for what isn't a message.
std::optional<Message> decode_message(std::string_view bytes);

}  // namespace record
