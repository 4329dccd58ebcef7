#include "probe/kernel_file.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <exception>

#include "base/error.hpp"

namespace probe {
namespace {
constexpr std::size_t kMostTextBytes = 1U << 20;  // 8,000 network interfaces
}

KernelFile::KernelFile(const std::string& root, std::string_view path)
    : file_(base::File::try_open((root + std::string(path)).c_str(), O_RDONLY)) {
  if (file_.valid()) return;
  error_ = errno;
  if (error_ == EACCES || error_ == EPERM) state_ = record::State::kNotPermitted;
  reason_ = "cannot open " + std::string(path) + ": " + base::errno_text(error_);
}

void KernelFile::say_missing(MissingList& missing,
                             std::initializer_list<std::string_view> metrics) const {
  if (reason_.empty()) return;
  for (const auto metric : metrics) missing.say(metric, state_, reason_);
}

std::string_view KernelFile::read_lines(std::span<char> buffer) noexcept {
  if (!valid()) return {};
  std::span<char> place = larger_.size() > buffer.size() ? std::span<char>(larger_) : buffer;
  std::string_view text = base::read_text(fd(), place);
  while (!text.empty() && text.size() == place.size() && place.size() < kMostTextBytes) {
    try {
      larger_.resize(std::max<std::size_t>(2 * place.size(), 1U << 16));
    } catch (const std::exception&) {
      break;  // no memory: the lines that fit
    }
    place = larger_;
    text = base::read_text(fd(), place);
  }
  return text.substr(0, text.rfind('\n') + 1);
}

}  // namespace probe
