#include "tools/disk.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/memory.hpp"
#include "base/socket.hpp"
#include "record/codec.hpp"
#include "store/chunk_walk.hpp"
#include "store/log_bytes.hpp"
#include "tools/copy.hpp"

namespace tools {
namespace {

constexpr std::int64_t kSealAfterNs = 1'000'000'000;
constexpr std::int64_t kRetryAfterNs = 5'000'000'000;
constexpr std::int64_t kLookAfterNs = 1'000'000'000;
const Errand::Stop kNever = false;

record::Sample row_of(const record::Rows& rows, std::size_t row) {
  record::Sample sample{
      rows.time_ns[row], rows.duration_ns[row], rows.cpu_ns[row], rows.flags[row], {}};
  for (std::size_t column = 0; column < rows.columns; ++column) {
    sample.values.push_back(rows.at(column, row));
  }
  return sample;
}

bool is_rows(record::ChunkKind kind) noexcept {
  return kind == record::ChunkKind::kPlainRow || kind == record::ChunkKind::kSealedRows;
}

std::optional<record::Sample> last_row_at(store::ChunkWalk& walk, std::size_t offset) {
  walk.seek(offset);
  const store::ChunkWalk::Step step = walk.next();
  if (step.what != store::ChunkWalk::Step::What::kChunk) return std::nullopt;
  const auto rows = step.chunk.kind == record::ChunkKind::kPlainRow
                        ? record::decode_plain_row(step.chunk.payload)
                        : record::decode_sealed_rows(step.chunk.payload);
  if (!rows || rows->count == 0) return std::nullopt;
  return row_of(*rows, rows->count - 1);
}

record::Schema schema_at(store::ChunkWalk& walk, std::size_t offset) {
  walk.seek(offset);
  const store::ChunkWalk::Step step = walk.next();
  if (step.what != store::ChunkWalk::Step::What::kChunk) return {};
  auto record = record::decode(step.chunk.kind, step.chunk.payload);
  auto* schema = record ? std::get_if<record::Schema>(&*record) : nullptr;
  return schema != nullptr ? std::move(*schema) : record::Schema();
}

}  // namespace

ResumePoint resume_point(int fd) {
  using What = store::ChunkWalk::Step::What;
  ResumePoint point;
  const std::size_t size = base::file_size(fd).value_or(0);
  const store::LogBytes bytes(fd);
  store::ChunkWalk walk(bytes, 0, size);
  std::optional<std::size_t> schema;
  std::optional<std::size_t> rows;
  std::optional<std::size_t> schema_of_rows;
  for (store::ChunkWalk::Step step = walk.next(); step.what != What::kEnd; step = walk.next()) {
    if (step.what == What::kFailed) {
      point.offset = size;
      break;
    }
    if (step.newer_version != 0) point.offset = step.damage.offset + step.damage.bytes;
    if (step.what == What::kDamage) continue;
    point.offset = step.chunk.end;
    point.sequence = step.chunk.sequence + 1;
    if (step.chunk.kind == record::ChunkKind::kSchema) schema = step.chunk.offset;
    if (!is_rows(step.chunk.kind)) continue;
    rows = step.chunk.offset;
    schema_of_rows = schema;
  }
  if (rows) point.last_row = last_row_at(walk, *rows);
  if (point.last_row && schema_of_rows) point.schema = schema_at(walk, *schema_of_rows);
  return point;
}

Disk::Disk(const DiskOptions& options, RowQueue& queue)
    : options_(options),
      queue_(queue),
      upkeep_(options.upkeep, [this](const auto& message, int fd) { return send(message, fd); }),
      writer_(options.spill_fd >= 0 ? options.spill_fd : upkeep_.fd(), options.offset,
              options.sequence),
      spill_(options.spill_fd),
      file_end_(options.spill_offset),
      thread_([this] { run(); }) {}

void Disk::run() {
  for (;;) {
    QueueItem* front = queue_.front_within(kLookAfterNs);
    const std::int64_t now_ns = base::monotonic_ns();
    busy_since_ns_.store(now_ns, std::memory_order_relaxed);
    const bool last = front != nullptr && front->last;
    if (spill_.valid()) try_to_return(now_ns);
    const auto spilled = spill_.valid() ? std::optional(file_end_) : std::nullopt;
    if (last) {
      upkeep_.finish(writer_, spilled);
    } else {
      upkeep_.look_after(writer_, spilled, now_ns);
    }
    if (front == nullptr) {
      busy_since_ns_.store(0, std::memory_order_relaxed);
      continue;
    }
    QueueItem& item = *front;
    if (!write(item)) {
      const int code = errno;
      if (!spill_.valid()) spill(code);
      if (!spill_.valid() || !write(item)) {
        // Nowhere to keep it: rows are counted as lost, marks stay unacknowledged in the kernel.
        if (lost_.begin_ns == 0) lost_.begin_ns = item.sample.time_ns;
        lost_.end_ns = base::monotonic_ns();
        lost_.text = base::errno_text(code);
        item.ack.reset();
      }
    }
    if (item.ack) unsent_ = *item.ack;
    if (unsent_ && send(*unsent_)) unsent_.reset();
    item.ack.reset();
    item.record.reset();
    queue_.pop();
    busy_since_ns_.store(0, std::memory_order_relaxed);
    if (last) break;
  }
  if (spill_.valid()) {
    next_try_ns_ = 0;
    try_to_return(base::monotonic_ns());
  }
}

bool Disk::write(const QueueItem& item) {
  if (spill_.valid() && writer_.offset() > kMostSpillBytes) {
    errno = ENOSPC;
    return false;
  }
  if (lost_.begin_ns != 0) {
    record::Gap gap = lost_;
    gap.reason = record::GapReason::kWriteFailed;
    if (!writer_.append(gap)) return false;
    lost_ = {};
  }
  if (item.last) return writer_.seal() && (!item.record || writer_.append(*item.record));
  if (item.record) return writer_.append(*item.record);
  if (writer_.open_rows() > 0 && item.sample.time_ns - writer_.open_since_ns() >= kSealAfterNs &&
      !writer_.seal()) {
    return false;
  }
  return writer_.append_row(item.sample);
}

void Disk::spill(int code) {
  base::File memory = base::make_memfd("jumper-recording");
  if (!memory.valid()) return;
  const std::size_t whole = writer_.open_offset();
  if (!writer_.move_to(memory.fd(), 0)) return;
  // What stands behind `whole` in the file is in the memfd too: a reader must not see it twice.
  if (::ftruncate(upkeep_.fd(), static_cast<off_t>(whole)) != 0) {
    // Then readers find rows again that they know by their times.
  }
  spill_ = std::move(memory);
  file_end_ = whole;
  next_try_ns_ = base::monotonic_ns() + kRetryAfterNs;
  send(record::Spill{static_cast<std::int64_t>(whole), false, base::errno_text(code)}, spill_.fd());
}

void Disk::try_to_return(std::int64_t now_ns) {
  if (now_ns < next_try_ns_) return;
  next_try_ns_ = now_ns + kRetryAfterNs;
  const std::size_t bytes = writer_.offset();
  const auto back_to_file = [&] {
    return ::ftruncate(upkeep_.fd(), static_cast<off_t>(file_end_)) == 0;
  };
  if (!copy_bytes(spill_.fd(), 0, bytes, upkeep_.fd(), file_end_, kNever)) {
    back_to_file();
    return;
  }
  // Open rows are written once more at the end by move_to, so the copy is cut before them.
  if (!writer_.move_to(upkeep_.fd(), file_end_ + writer_.open_offset())) {
    back_to_file();
    return;
  }
  spill_.close();
  send(record::Spill{static_cast<std::int64_t>(file_end_), true, {}});
}

bool Disk::send(const record::Message& message, int descriptor) const {
  if (options_.socket_fd < 0) return true;
  std::string bytes;
  record::encode_message(message, bytes);
  return base::send_message(options_.socket_fd, bytes, descriptor) != base::SendResult::kFull;
}

}  // namespace tools
