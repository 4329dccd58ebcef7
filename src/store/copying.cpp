#include <algorithm>
#include <cerrno>
#include <string>

#include "record/codec.hpp"
#include "record/log.hpp"
#include "store/recording_state.hpp"

namespace store {
namespace {

constexpr std::size_t kBlockBytes = 1U << 20;
constexpr int kLooks = 3;  // rows that are being sealed look damaged for some microseconds

// What lies behind the final part, up to its last whole chunk.
struct Tail {
  std::string bytes;
  std::optional<std::uint32_t> next_sequence;
  bool whole = true;
  bool ended = false;
};

std::optional<Tail> read_tail(const LogBytes& bytes, std::size_t from, std::size_t most) {
  const auto size = bytes.size();
  if (!size) return std::nullopt;
  Tail tail;
  tail.bytes.resize(std::max(std::min(*size, most), from) - from);
  const auto got = bytes.read(from, tail.bytes);
  if (!got) return std::nullopt;
  tail.bytes.resize(*got);
  record::LogReader reader(tail.bytes);
  while (const auto chunk = reader.next()) {
    tail.next_sequence = chunk->sequence + 1;
    tail.ended = tail.ended || chunk->kind == record::ChunkKind::kEnd;
  }
  tail.whole = reader.damages().empty();
  tail.bytes.resize(reader.position());
  return tail;
}

bool copy_final(const LogBytes& bytes, std::size_t end, int fd) {
  std::string block;
  for (std::size_t done = 0; done < end; done += block.size()) {
    block.resize(std::min(end - done, kBlockBytes));
    const auto got = bytes.read(done, block);
    if (!got) return false;
    if (*got < block.size()) {
      errno = EIO;  // shorter than it was
      return false;
    }
    if (!base::write_at(fd, block, static_cast<off_t>(done))) return false;
  }
  return true;
}

}  // namespace

bool Recording::copy_to(int fd, std::int64_t now_ns) const {
  constexpr std::size_t kMostTailBytes = 64U << 20;  // a second of rows takes some kB
  const std::size_t end = state_->index.final_end();
  if (!copy_final(state_->bytes, end, fd)) return false;
  std::optional<Tail> tail;
  for (int look = 0; look < kLooks && (!tail || !tail->whole); ++look) {
    tail = read_tail(state_->bytes, end, end + kMostTailBytes);
    if (!tail) return false;
  }
  if (!state_->index.end && !tail->ended) {
    record::End end_record;
    end_record.time_ns = now_ns;
    end_record.text = "this is a copy, saved while the recording went on";
    std::string payload;
    record::encode(end_record, payload);
    const auto sequence =
        tail->next_sequence ? tail->next_sequence : state_->index.final_sequence();
    record::append_chunk(record::ChunkKind::kEnd, sequence.value_or(0), payload, tail->bytes);
  }
  return base::write_at(fd, tail->bytes, static_cast<off_t>(end));
}

}  // namespace store
