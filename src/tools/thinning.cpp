#include "tools/thinning.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <string>
#include <utility>
#include <variant>

#include "base/failpoint.hpp"
#include "base/file.hpp"
#include "record/codec.hpp"
#include "record/log.hpp"
#include "store/chunk_walk.hpp"
#include "tools/row_choice.hpp"

namespace tools {
namespace {

using What = store::ChunkWalk::Step::What;

constexpr std::size_t kWriteBytes = 256U << 10;
constexpr std::size_t kRowsAChunk = 32;
constexpr std::size_t kNewestPart = 4;  // of the wished size: rows that stay as they are
constexpr std::int64_t kMostThinning = 1 << 20;
constexpr std::string_view kNote = "older samples are thinned to one in ";

bool is_rows(record::ChunkKind kind) noexcept {
  return kind == record::ChunkKind::kPlainRow || kind == record::ChunkKind::kSealedRows;
}

// Chunks to a file, a block at a time, numbered in their order.
class Output {
 public:
  Output(int fd, std::size_t offset, std::uint32_t sequence) noexcept
      : fd_(fd), offset_(offset), sequence_(sequence) {}

  bool chunk(record::ChunkKind kind, std::string_view payload) {
    record::append_chunk(kind, sequence_++, payload, buffer_);
    return buffer_.size() < kWriteBytes || flush();
  }
  bool record(const record::Record& record) {
    std::string payload;
    record::encode(record, payload);
    return chunk(record::kind_of(record), payload);
  }
  // A number that readers miss: something was damaged there.
  void leave_out() noexcept { ++sequence_; }

  bool flush() {
    if (base::fails_at("thin") || !base::write_at(fd_, buffer_, static_cast<off_t>(offset_))) {
      return false;
    }
    offset_ += buffer_.size();
    buffer_.clear();
    return true;
  }
  [[nodiscard]] std::size_t offset() const noexcept { return offset_; }
  [[nodiscard]] std::uint32_t sequence() const noexcept { return sequence_; }

 private:
  int fd_;
  std::size_t offset_;
  std::uint32_t sequence_;
  std::string buffer_;
};

// Hands out each chunk from `begin` to `end`. False with errno set when it stopped before.
template <typename Take, typename Damage>
bool each_chunk(int fd, std::size_t begin, std::size_t end, const Errand::Stop& stop, Take take,
                Damage damage) {
  const store::LogBytes bytes(fd);
  store::ChunkWalk walk(bytes, begin, end);
  for (;;) {
    if (stop) {
      errno = ECANCELED;
      return false;
    }
    const store::ChunkWalk::Step step = walk.next();
    if (step.what == What::kEnd) return true;
    if (step.what == What::kFailed) return false;
    if (step.what == What::kDamage) {
      damage();
    } else if (!take(step.chunk)) {
      return false;
    }
  }
}

// How many rows make one, so that the copy has about the wished size.
std::optional<std::int64_t> how_thin(int fd, std::size_t split, std::size_t end,
                                     std::size_t wished_bytes, const Errand::Stop& stop) {
  std::size_t old_rows = 0;
  std::size_t others = 0;
  const auto count = [&](const record::Chunk& chunk) {
    const bool thins = is_rows(chunk.kind) && chunk.offset < split;
    (thins ? old_rows : others) += chunk.end - chunk.offset;
    return true;
  };
  if (!each_chunk(fd, 0, end, stop, count, [] {})) return std::nullopt;
  std::int64_t one_in = 2;
  while (one_in < kMostThinning &&
         others + old_rows / static_cast<std::size_t>(one_in) > wished_bytes) {
    one_in *= 2;
  }
  return one_in;
}

// "more; older samples are thinned to one in 4" -> "more", 4.
std::pair<std::string, std::int64_t> parted(const std::string& reason) {
  const std::size_t note = reason.rfind(kNote);
  if (note == reason.npos) return {reason, 1};
  std::int64_t one_in = 1;
  const char* begin = reason.data() + note + kNote.size();
  std::from_chars(begin, reason.data() + reason.size(), one_in);
  std::string rest = reason.substr(0, note);
  if (rest.ends_with("; ")) rest.resize(rest.size() - 2);
  return {std::move(rest), std::max<std::int64_t>(one_in, 1)};
}

class Thinner {
 public:
  Thinner(std::size_t split, std::int64_t one_in, Output& out)
      : split_(split), one_in_(one_in), out_(out), choice_(one_in) {}

  bool take(const record::Chunk& chunk) {
    if (chunk.offset >= split_) return end_old_part(chunk) && out_.chunk(chunk.kind, chunk.payload);
    if (is_rows(chunk.kind)) return take_rows(chunk);
    if (!end_stretch()) return false;
    if (chunk.kind == record::ChunkKind::kSchema || chunk.kind == record::ChunkKind::kSettings) {
      auto record = record::decode(chunk.kind, chunk.payload);
      if (!record) return out_.chunk(chunk.kind, chunk.payload);
      if (const auto* schema = std::get_if<record::Schema>(&*record)) choice_.set_schema(*schema);
      if (const auto* settings = std::get_if<record::Settings>(&*record)) {
        settings_ = *settings;
        return out_.record(thinned(*settings));
      }
    }
    return out_.chunk(chunk.kind, chunk.payload);
  }

  bool end_stretch() {
    choice_.end(kept_);
    return write_kept(1);
  }

 private:
  [[nodiscard]] record::Settings thinned(record::Settings settings) const {
    auto [reason, before] = parted(settings.reason);
    settings.rate_hz /= static_cast<double>(one_in_);
    settings.reason = fmt::format("{}{}{}{}", reason, reason.empty() ? "" : "; ", kNote,
                                  before <= kMostThinning ? before * one_in_ : before);
    return settings;
  }

  bool take_rows(const record::Chunk& chunk) {
    const auto rows = chunk.kind == record::ChunkKind::kPlainRow
                          ? record::decode_plain_row(chunk.payload)
                          : record::decode_sealed_rows(chunk.payload);
    if (!rows) {
      out_.leave_out();
      return true;
    }
    for (std::size_t row = 0; row < rows->count; ++row) {
      record::Sample sample{
          rows->time_ns[row], rows->duration_ns[row], rows->cpu_ns[row], rows->flags[row], {}};
      // As readers do: a row that isn't newer repeats one.
      if (sample.time_ns <= last_ns_) continue;
      last_ns_ = sample.time_ns;
      sample.values.reserve(rows->columns);
      for (std::size_t column = 0; column < rows->columns; ++column) {
        sample.values.push_back(rows->at(column, row));
      }
      choice_.add(std::move(sample), kept_);
      if (!write_kept(kRowsAChunk)) return false;
    }
    return true;
  }

  bool write_kept(std::size_t least) {
    while (kept_.size() >= least && !kept_.empty()) {
      std::size_t count = 1;
      while (count < kept_.size() && count < kRowsAChunk &&
             kept_[count].values.size() == kept_[0].values.size()) {
        ++count;
      }
      payload_.clear();
      record::encode_sealed_rows(kept_, count, payload_);
      if (!out_.chunk(record::ChunkKind::kSealedRows, payload_)) return false;
      kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(count));
    }
    return true;
  }

  // From the first rows of the newest part on the settings are what they were.
  bool end_old_part(const record::Chunk& chunk) {
    if (!is_rows(chunk.kind) || !settings_) return end_stretch();
    if (!end_stretch()) return false;
    const auto rows = chunk.kind == record::ChunkKind::kPlainRow
                          ? record::decode_plain_row(chunk.payload)
                          : record::decode_sealed_rows(chunk.payload);
    if (!rows || rows->count == 0) return true;
    record::Settings settings = *std::exchange(settings_, std::nullopt);
    settings.time_ns = std::max(rows->time_ns[0], settings.time_ns);
    return out_.record(settings);
  }

  const std::size_t split_;
  const std::int64_t one_in_;
  Output& out_;
  RowChoice choice_;
  std::vector<record::Sample> kept_;
  std::optional<record::Settings> settings_;  // in force, as they were
  std::int64_t last_ns_ = 0;
  std::string payload_;
};

}  // namespace

std::optional<Thinned> thin(int from_fd, std::size_t end, int to_fd, std::size_t wished_bytes,
                            const Errand::Stop& stop) {
  const std::size_t split = end - std::min(end, wished_bytes / kNewestPart);
  const auto one_in = how_thin(from_fd, split, end, wished_bytes, stop);
  if (!one_in) return std::nullopt;
  Output out(to_fd, 0, 0);
  Thinner thinner(split, *one_in, out);
  const auto take = [&](const record::Chunk& chunk) { return thinner.take(chunk); };
  if (!each_chunk(from_fd, 0, end, stop, take, [&] { out.leave_out(); }) ||
      !thinner.end_stretch() || !out.flush()) {
    return std::nullopt;
  }
  return Thinned{end, out.offset(), out.sequence()};
}

bool copy_chunks(int from_fd, std::size_t end, int to_fd, Thinned& at, const Errand::Stop& stop) {
  Output out(to_fd, at.offset, at.sequence);
  const auto take = [&](const record::Chunk& chunk) {
    return out.chunk(chunk.kind, chunk.payload);
  };
  if (!each_chunk(from_fd, at.from, end, stop, take, [&] { out.leave_out(); }) || !out.flush()) {
    return false;
  }
  at = {end, out.offset(), out.sequence()};
  return true;
}

}  // namespace tools
