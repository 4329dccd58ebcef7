#pragma once
// Walks over the chunks of a recording as it lies in a file, reading a block at a time: an open
// recording never takes more memory than its longest chunk. Treats the bytes as hostile: a length
// is believed only as far as the file goes and never beyond record::kMostPayloadBytes, and the
// time spent on broken checksums is bounded by the size.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/log.hpp"
#include "store/log_bytes.hpp"

namespace store {

class ChunkWalk {
 public:
  // What stands at one place of the recording.
  struct Step {
    enum class What {
      kChunk,   // a whole one; its payload stays valid until the next step
      kDamage,  // bytes that are no chunk of ours
      kEnd,     // nothing follows (yet)
      kFailed,  // reading failed, errno says why
    } what = What::kEnd;
    record::Chunk chunk;
    record::Damage damage;
    // What the damaged chunk says of itself, when its header still reads like one.
    std::optional<record::ChunkKind> damaged_kind;
    std::uint8_t newer_version = 0;  // of a whole chunk that a newer JUmPER wrote; else 0
  };

  // `bytes` must outlive the walk. Nothing from `end` on is looked at.
  ChunkWalk(const LogBytes& bytes, std::size_t begin, std::size_t end) noexcept
      : bytes_(bytes),
        position_(begin),
        end_(end),
        most_wasted_(kWasteFactor * end + kBlockBytes) {}

  Step next();

  // Goes on at `offset`. What is read already is kept.
  void seek(std::size_t offset) noexcept { position_ = offset; }
  // The same, but everything is read anew.
  void reread(std::size_t offset) noexcept {
    position_ = offset;
    filled_ = 0;
  }

 private:
  static constexpr std::size_t kBlockBytes = 64U << 10;
  static constexpr std::size_t kWasteFactor = 8;

  Step chunk_at_magic(std::string_view head);
  Step damage(std::size_t end, std::string_view what);
  // The bytes there, fewer at the end; nullopt when reading failed.
  std::optional<std::string_view> view(std::size_t offset, std::size_t size);
  // Behind the damaged chunk at the present position that says of itself where it ends and which
  // number it has; nullopt: reading failed.
  std::optional<std::size_t> behind(std::size_t says_end, std::uint32_t sequence);
  // Where the first magic from `from` on begins, else `before`; nullopt: reading failed.
  std::optional<std::size_t> find_magic(std::size_t from, std::size_t before);
  std::optional<std::size_t> next_magic() { return find_magic(position_ + 1, end_); }

  const LogBytes& bytes_;
  std::size_t position_;
  std::size_t end_;
  std::size_t most_wasted_;  // bytes whose checksum may turn out to be wrong
  std::size_t wasted_ = 0;
  std::vector<char> buffer_;
  std::size_t buffer_offset_ = 0;
  std::size_t filled_ = 0;
};

}  // namespace store
