#include "record/bytes.hpp"
#include "record/crc32c.hpp"
#include "record/log.hpp"

namespace record {
namespace {

constexpr std::size_t kChecksumOffset = 20;
constexpr std::size_t kMostChecks = 16;

}  // namespace

void append_chunk(ChunkKind kind, std::uint32_t sequence, std::string_view payload,
                  std::string& out) {
  const std::size_t begin = out.size();
  ByteWriter writer(out);
  out.append(kMagic);
  writer.u8(kVersion);
  writer.u8(static_cast<std::uint8_t>(kind));
  writer.u8(0);
  writer.u8(0);
  writer.u32(static_cast<std::uint32_t>(payload.size()));
  writer.u32(sequence);
  const std::string_view header = std::string_view(out).substr(begin, kChecksumOffset);
  writer.u32(crc32c(crc32c(0, header), payload));
  out.append(payload);
}

bool looks_like_recording(std::string_view bytes) noexcept { return bytes.starts_with(kMagic); }

std::optional<Chunk> LogReader::next() {
  while (position_ < bytes_.size()) {
    const std::size_t begin = bytes_.find(kMagic, position_);
    if (begin == bytes_.npos) {
      // A magic may begin in the last bytes; it makes no difference here: nothing follows it.
      note_damage(position_, bytes_.size(), "no chunk begins here");
      position_ = bytes_.size();
      return std::nullopt;
    }
    if (begin != position_) note_damage(position_, begin, "no chunk begins here");
    position_ = begin;
    const std::string_view rest = bytes_.substr(begin);
    if (rest.size() < kHeaderBytes) {
      note_damage(begin, bytes_.size(), "the file ends inside a chunk");
      position_ = bytes_.size();
      return std::nullopt;
    }
    ByteReader header(rest.substr(kMagic.size(), kHeaderBytes - kMagic.size()));
    const std::uint8_t version = header.u8();
    const std::uint8_t kind = header.u8();
    header.u8();
    header.u8();
    const std::uint32_t length = header.u32();
    const std::uint32_t sequence = header.u32();
    const std::uint32_t checksum = header.u32();
    if (length > kMostPayloadBytes || length > rest.size() - kHeaderBytes) {
      // Either the length is damaged, or the end is missing. Go on behind this magic.
      const bool ends =
          length <= kMostPayloadBytes && bytes_.find(kMagic, begin + 1) == bytes_.npos;
      note_damage(begin, ends ? bytes_.size() : begin + kMagic.size(),
                  ends ? "the file ends inside a chunk" : "the length is wrong");
      position_ = ends ? bytes_.size() : begin + kMagic.size();
      continue;
    }
    const std::string_view payload = rest.substr(kHeaderBytes, length);
    checked_bytes_ += kHeaderBytes + length;
    if (checked_bytes_ / kMostChecks > bytes_.size()) {
      note_damage(begin, bytes_.size(), "too many broken chunks");
      position_ = bytes_.size();
      return std::nullopt;
    }
    if (crc32c(crc32c(0, rest.substr(0, kChecksumOffset)), payload) != checksum) {
      // The length may be what is wrong: only the magic is passed over, the next one is found.
      note_damage(begin, begin + kMagic.size(), "checksum is wrong");
      position_ = begin + kMagic.size();
      continue;
    }
    position_ = begin + kHeaderBytes + length;
    good_end_ = position_;
    if (version > kVersion) {
      newer_version_ = true;
      continue;
    }
    return Chunk{begin, position_, static_cast<ChunkKind>(kind), sequence, payload};
  }
  return std::nullopt;
}

void LogReader::note_damage(std::size_t offset, std::size_t end, std::string_view what) {
  // What follows a broken chunk up to the next magic belongs to it: one damage, not two.
  if (!damages_.empty() && damage_count_ == damages_.size()) {
    Damage& last = damages_.back();
    if (last.offset + last.bytes == offset) {
      last.bytes = end - last.offset;
      return;
    }
  }
  ++damage_count_;
  if (damages_.size() < kMostDamages) {
    damages_.push_back({offset, end - offset, std::string(what)});
  }
}

}  // namespace record
