#pragma once
// The recording's bytes: chunks, one after the other.
//
//   offset  0        8       9        10       12       16        20           24
//           +--------+-------+--------+--------+--------+---------+------------+---------
//           | magic  |version| kind   | 0 (16) | length | sequence| CRC32C     | payload …
//           | 8 bytes| u8    | u8     |        | u32    | u32     | of 0..19   | length
//           |        |       |        |        |        |         | + payload  | bytes
//           +--------+-------+--------+--------+--------+---------+------------+---------
//
// Append-only but for one thing: the plain rows at the very end (at most one second of them) are
// written over by their sealed form, which is shorter; then the file is cut there. `sequence`
// counts the chunks, so a lost one shows; a sealed chunk takes over its first row's number. A
// reader accepts any prefix; a damaged chunk costs itself alone, since the reader goes on at the
// next magic.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "record/records.hpp"
#include "record/rows.hpp"

namespace record {

inline constexpr std::string_view kMagic{"\xF1JUMPER\n", 8};
inline constexpr std::uint8_t kVersion = 1;
inline constexpr std::size_t kHeaderBytes = 24;
inline constexpr std::size_t kMostPayloadBytes = 64U << 20;

enum class ChunkKind : std::uint8_t {
  kMachine = 1,
  kSchema = 2,
  kSettings = 3,
  kMissing = 4,
  kPlainRow = 5,
  kSealedRows = 6,
  kCellBegin = 7,
  kCellEnd = 8,
  kGap = 9,
  kEnd = 10,
  kDevice = 11,
  kConsumers = 12,
  kStacks = 13,
  kNearLimit = 14,
  kTold = 15,
  kGroup = 16,
};
inline constexpr ChunkKind kLastChunkKind = ChunkKind::kGroup;  // larger: a newer writer's

ChunkKind kind_of(const Record& record) noexcept;

// Header and payload of one chunk, appended to `out`.
void append_chunk(ChunkKind kind, std::uint32_t sequence, std::string_view payload,
                  std::string& out);

// One chunk as it stands in the bytes. `rows` are provisional for kPlainRow.
struct Chunk {
  std::size_t offset = 0;
  std::size_t end = 0;  // offset of what follows
  ChunkKind kind = ChunkKind::kMachine;
  std::uint32_t sequence = 0;
  std::string_view payload;  // into the reader's bytes
};

struct Damage {
  std::size_t offset = 0;
  std::size_t bytes = 0;
  std::string what;  // "no chunk begins here", "checksum is wrong", "the file ends inside a chunk"
};

// Walks over the chunks of `bytes`, which must outlive it. Never throws, never reads outside,
// allocates only for damage (at most kMostDamages are kept, the rest is counted). Time is linear in
// the size of the bytes, whatever they claim: after checking them 16 times over, the rest is
// damage.
class LogReader {
 public:
  static constexpr std::size_t kMostDamages = 64;

  explicit LogReader(std::string_view bytes, std::size_t begin = 0) noexcept
      : bytes_(bytes), position_(begin) {}

  // The next chunk whose checksum is right; nullopt at the end. Unknown kinds and sealed rows'
  // repetitions are handed out too: the caller skips what it doesn't know.
  std::optional<Chunk> next();

  [[nodiscard]] const std::vector<Damage>& damages() const noexcept { return damages_; }
  [[nodiscard]] std::size_t damage_count() const noexcept { return damage_count_; }
  // Where the chunk after the last good one would begin.
  [[nodiscard]] std::size_t position() const noexcept { return good_end_; }
  // A chunk of a later format version was met (and passed over).
  [[nodiscard]] bool newer_version() const noexcept { return newer_version_; }

 private:
  void note_damage(std::size_t offset, std::size_t end, std::string_view what);

  std::string_view bytes_;
  std::size_t position_;
  std::size_t good_end_ = 0;
  std::vector<Damage> damages_;
  std::size_t damage_count_ = 0;
  bool newer_version_ = false;
  std::size_t checked_bytes_ = 0;
};

// True when the bytes begin like a recording of any version: a foreign file doesn't.
bool looks_like_recording(std::string_view bytes) noexcept;

// Writes chunks to one descriptor. One thread. Every call returns false when the system refused
// (errno says why) and has then changed nothing that a reader would miss.
class LogWriter {
 public:
  // Goes on at `offset` of `fd` (not owned) with `sequence`.
  LogWriter(int fd, std::size_t offset, std::uint32_t sequence) noexcept
      : fd_(fd), offset_(offset), tail_(offset), sequence_(sequence) {}

  bool append(const Record& record);  // seals the open rows first
  bool append_row(const Sample& sample);
  bool seal();  // no-op when no row is open

  // Goes on elsewhere (a memfd when the disk is full, and back). Rows still open are written
  // there again, so the old place keeps only what is whole before open_offset().
  bool move_to(int fd, std::size_t offset);
  // The same in a copy whose chunks are counted anew: the next one has number `sequence`.
  bool move_to(int fd, std::size_t offset, std::uint32_t sequence);

  [[nodiscard]] std::size_t offset() const noexcept { return offset_; }  // end of what is written
  [[nodiscard]] std::size_t open_offset() const noexcept { return tail_; }  // begin of open rows
  [[nodiscard]] std::size_t open_rows() const noexcept { return open_count_; }
  [[nodiscard]] std::int64_t open_since_ns() const noexcept {
    return open_count_ > 0 ? open_[0].time_ns : 0;
  }
  [[nodiscard]] std::uint32_t sequence() const noexcept { return sequence_; }

 private:
  int fd_;
  std::size_t offset_;
  std::size_t tail_;
  std::uint32_t sequence_;    // of the next chunk
  std::vector<Sample> open_;  // capacity is kept: no allocation in the steady state
  std::size_t open_count_ = 0;
  std::string buffer_;
  std::string payload_;
};

}  // namespace record
