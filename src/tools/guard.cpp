#include "tools/guard.hpp"

#include <algorithm>

namespace tools {
namespace {

constexpr std::size_t kTextBytes = 8192;  // memory.stat has some 1.5 KiB

}  // namespace

void Guard::set(const record::Guard& wish) {
  // Not a number and what no share can be switch it off.
  percent_ = wish.percent > 0 && wish.percent <= 100 ? wish.percent : 0;
  if (percent_ == 0) {
    memory_.reset();
    return;
  }
  buffer_.resize(kTextBytes);
  if (!memory_) memory_.emplace("/", root_pid_);
  if (cells_ > 0) memory_->begin_cell(percent_, buffer_);
}

void Guard::begin_cell() {
  ++cells_;
  if (is_on()) memory_->begin_cell(percent_, buffer_);
}

void Guard::end_cell() noexcept { cells_ = std::max<std::int64_t>(cells_ - 1, 0); }

std::int64_t Guard::next_ns() const noexcept { return is_on() ? memory_->next_ns() : INT64_MAX; }

std::optional<record::NearLimit> Guard::look(std::int64_t now_ns) noexcept {
  if (!is_on() || now_ns < memory_->next_ns()) return std::nullopt;
  return memory_->look(percent_, now_ns, buffer_);
}

}  // namespace tools
