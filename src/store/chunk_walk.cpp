#include "store/chunk_walk.hpp"

#include <algorithm>
#include <span>

#include "record/bytes.hpp"
#include "record/crc32c.hpp"

namespace store {
namespace {

using What = ChunkWalk::Step::What;

constexpr std::size_t kChecksumOffset = record::kHeaderBytes - sizeof(std::uint32_t);
constexpr std::size_t kSequenceOffset = kChecksumOffset - sizeof(std::uint32_t);

// Of a chunk whose checksum is wrong: the kind that would make it right, where the kind alone is
// damaged; else what it says. Rows that call themselves a schema must not cost those behind them.
record::ChunkKind likely_kind(std::string_view whole, record::ChunkKind says,
                              std::uint32_t checksum) {
  constexpr std::size_t kKindOffset = 9;
  constexpr std::size_t kMostBytes = 64U << 10;  // hostile bytes may ask for this again and again
  if (whole.size() > kMostBytes) return says;
  std::string head(whole.substr(0, kChecksumOffset));
  for (auto kind = record::ChunkKind::kMachine; kind <= record::kLastChunkKind;
       kind = static_cast<record::ChunkKind>(static_cast<int>(kind) + 1)) {
    head[kKindOffset] = static_cast<char>(kind);
    const std::string_view payload = whole.substr(record::kHeaderBytes);
    if (record::crc32c(record::crc32c(0, head), payload) == checksum) return kind;
  }
  return says;
}

ChunkWalk::Step failed() {
  ChunkWalk::Step step;
  step.what = What::kFailed;
  return step;
}

}  // namespace

ChunkWalk::Step ChunkWalk::next() {
  if (position_ >= end_) return {};
  const auto head = view(position_, std::min(record::kHeaderBytes, end_ - position_));
  if (!head) return failed();
  if (head->empty()) return {};  // the file became shorter
  if (!head->starts_with(record::kMagic)) {
    if (record::kMagic.starts_with(*head)) return damage(end_, "the file ends inside a chunk");
    const auto next = next_magic();
    if (!next) return failed();
    return damage(*next, "no chunk begins here");
  }
  if (head->size() < record::kHeaderBytes) return damage(end_, "the file ends inside a chunk");
  return chunk_at_magic(*head);
}

ChunkWalk::Step ChunkWalk::chunk_at_magic(std::string_view head) {
  record::ByteReader reader(head.substr(record::kMagic.size()));
  const std::uint8_t version = reader.u8();
  const auto kind = static_cast<record::ChunkKind>(reader.u8());
  reader.u8();
  reader.u8();
  const std::size_t length = reader.u32();
  const std::uint32_t sequence = reader.u32();
  const std::uint32_t checksum = reader.u32();

  const std::size_t begin = position_;
  if (length > record::kMostPayloadBytes || length > end_ - begin - record::kHeaderBytes) {
    const auto next = next_magic();
    if (!next) return failed();
    const bool torn = *next == end_ && length <= record::kMostPayloadBytes;
    return damage(*next, torn ? "the file ends inside a chunk" : "the length is wrong");
  }
  const auto whole = view(begin, record::kHeaderBytes + length);
  if (!whole) return failed();
  if (whole->size() < record::kHeaderBytes + length) {
    return damage(end_, "the file ends inside a chunk");
  }
  const std::string_view payload = whole->substr(record::kHeaderBytes);
  const std::size_t after = begin + whole->size();
  if (record::crc32c(record::crc32c(0, whole->substr(0, kChecksumOffset)), payload) != checksum) {
    const record::ChunkKind likely = likely_kind(*whole, kind, checksum);
    wasted_ += whole->size();
    if (wasted_ > most_wasted_) return damage(end_, "too much is damaged to go on");
    const auto next = behind(after, sequence);
    if (!next) return failed();
    Step step = damage(*next, "checksum is wrong");
    step.damaged_kind = likely;
    return step;
  }
  if (version > record::kVersion) {
    Step step = damage(after, "a newer JUmPER wrote this");
    step.newer_version = version;
    return step;
  }
  position_ = after;
  Step step;
  step.what = What::kChunk;
  step.chunk = {begin, after, kind, sequence, payload};
  return step;
}

// The length is believed where it leads to another chunk or to the end: then a magic in the payload
// (a cell may hold one) isn't taken for a chunk. But a damaged length may lead to some chunk, too:
// the one with the next number, if it begins before, shows that.
std::optional<std::size_t> ChunkWalk::behind(std::size_t says_end, std::uint32_t sequence) {
  const auto number_at = [&](std::size_t offset) -> std::optional<std::uint32_t> {
    const auto head = view(offset, std::min(record::kHeaderBytes, end_ - offset));
    if (!head || head->size() < record::kHeaderBytes || !head->starts_with(record::kMagic)) {
      return std::nullopt;
    }
    record::ByteReader reader(head->substr(kSequenceOffset));
    return reader.u32();
  };
  if (number_at(says_end) == sequence + 1) return says_end;
  for (std::size_t from = position_ + 1;;) {
    const auto found = find_magic(from, says_end);
    if (!found) return std::nullopt;
    if (*found == says_end) break;
    if (number_at(*found) == sequence + 1) return found;
    from = *found + 1;
  }
  if (says_end == end_) return says_end;
  const auto following = view(says_end, std::min(record::kMagic.size(), end_ - says_end));
  if (!following) return std::nullopt;
  return *following == record::kMagic ? says_end : next_magic();
}

ChunkWalk::Step ChunkWalk::damage(std::size_t end, std::string_view what) {
  Step step;
  step.what = What::kDamage;
  step.damage = {position_, end - position_, std::string(what)};
  position_ = end;
  return step;
}

std::optional<std::string_view> ChunkWalk::view(std::size_t offset, std::size_t size) {
  if (offset < buffer_offset_ || offset + size > buffer_offset_ + filled_) {
    const std::size_t wanted = std::min(std::max(size, kBlockBytes), end_ - offset);
    if (buffer_.size() < wanted) buffer_.resize(wanted);
    filled_ = 0;
    const auto got = bytes_.read(offset, std::span(buffer_).first(wanted));
    if (!got) return std::nullopt;
    buffer_offset_ = offset;
    filled_ = *got;
    if (filled_ < wanted) end_ = offset + filled_;
  }
  const std::size_t inside = offset - buffer_offset_;
  return std::string_view(buffer_.data() + inside, std::min(size, filled_ - inside));
}

std::optional<std::size_t> ChunkWalk::find_magic(std::size_t from, std::size_t before) {
  std::size_t offset = from;
  while (offset < before && offset + record::kMagic.size() <= end_) {
    if (!view(offset, record::kMagic.size())) return std::nullopt;
    // All that is there already: with many of them near each other nothing is read twice.
    const std::size_t inside = offset - buffer_offset_;
    const std::string_view block(buffer_.data() + inside, filled_ - inside);
    const std::size_t found = block.find(record::kMagic);
    if (found != block.npos) return std::min(offset + found, before);
    if (block.size() < record::kMagic.size()) break;
    offset += block.size() - (record::kMagic.size() - 1);
  }
  return before;
}

}  // namespace store
