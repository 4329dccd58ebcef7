#include <unistd.h>

#include "base/file.hpp"
#include "record/codec.hpp"
#include "record/log.hpp"

namespace record {

bool LogWriter::append(const Record& record) {
  if (!seal()) return false;
  payload_.clear();
  encode(record, payload_);
  buffer_.clear();
  append_chunk(kind_of(record), sequence_, payload_, buffer_);
  if (!base::write_at(fd_, buffer_, static_cast<off_t>(offset_))) return false;
  offset_ += buffer_.size();
  tail_ = offset_;
  ++sequence_;
  return true;
}

bool LogWriter::append_row(const Sample& sample) {
  payload_.clear();
  encode_plain_row(sample, payload_);
  buffer_.clear();
  append_chunk(ChunkKind::kPlainRow, sequence_ + static_cast<std::uint32_t>(open_count_), payload_,
               buffer_);
  if (!base::write_at(fd_, buffer_, static_cast<off_t>(offset_))) return false;
  offset_ += buffer_.size();
  if (open_.size() == open_count_) open_.emplace_back();
  open_[open_count_++] = sample;  // assignment keeps the vector's memory
  return true;
}

bool LogWriter::seal() {
  if (open_count_ == 0) return true;
  payload_.clear();
  encode_sealed_rows(open_, open_count_, payload_);
  buffer_.clear();
  append_chunk(ChunkKind::kSealedRows, sequence_, payload_, buffer_);
  const std::size_t end = tail_ + buffer_.size();
  if (end >= offset_) {
    // One row or two are no shorter when sealed: they stay as they are.
    sequence_ += static_cast<std::uint32_t>(open_count_);
    tail_ = offset_;
    open_count_ = 0;
    return true;
  }
  if (!base::write_at(fd_, buffer_, static_cast<off_t>(tail_))) return false;
  if (::ftruncate(fd_, static_cast<off_t>(end)) != 0) {
    // What is left of the plain rows behind it repeats rows: readers skip those by their time.
  }
  offset_ = end;
  tail_ = end;
  open_count_ = 0;
  ++sequence_;
  return true;
}

bool LogWriter::move_to(int fd, std::size_t offset) {
  const int old_fd = std::exchange(fd_, fd);
  const std::size_t old_offset = std::exchange(offset_, offset);
  const std::size_t old_tail = std::exchange(tail_, offset);
  const std::size_t rows = std::exchange(open_count_, 0);
  for (std::size_t row = 0; row < rows; ++row) {
    if (append_row(open_[row])) continue;
    fd_ = old_fd;
    offset_ = old_offset;
    tail_ = old_tail;
    open_count_ = rows;
    return false;
  }
  return true;
}

bool LogWriter::move_to(int fd, std::size_t offset, std::uint32_t sequence) {
  const std::uint32_t old_sequence = std::exchange(sequence_, sequence);
  if (move_to(fd, offset)) return true;
  sequence_ = old_sequence;
  return false;
}

}  // namespace record
