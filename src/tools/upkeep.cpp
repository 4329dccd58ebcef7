#include "tools/upkeep.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/failpoint.hpp"
#include "tools/copy.hpp"
#include "watch/place.hpp"

namespace tools {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kHourNs = 3600 * kSecondNs;
constexpr std::int64_t kRetryNs = 5 * kSecondNs;

const Errand::Stop kNever = false;

// Never another file: what lies there must be this one.
void remove_own(const std::string& path, int fd) {
  if (look_for(fd, path).what == Whereabouts::What::kThere) ::unlink(path.c_str());
}

}  // namespace

Upkeep::Upkeep(const UpkeepOptions& options, Tell tell)
    : options_(options),
      tell_(std::move(tell)),
      file_(options.recording_fd),
      path_(path_of(options.recording_fd)),
      thin_at_(options.most_bytes) {}

Upkeep::~Upkeep() { drop_successor(); }

void Upkeep::look_after(record::LogWriter& writer, std::optional<std::size_t> spilled,
                        std::int64_t now_ns) {
  if (untold_) tell(*std::exchange(untold_, std::nullopt), untold_fd_);
  if (path_.empty()) return;
  keep_if_due(now_ns);
  const std::size_t end = spilled.value_or(writer.open_offset());
  if (now_ns - look_ns_ >= kSecondNs) {
    look_ns_ = now_ns;
    look(now_ns, end);
  }
  if (!next_ && !spilled && !unnamed_ && end > thin_at_) begin_thinning(end);
  if (next_ && next_->errand->finished()) follow_up(writer, spilled, now_ns);
}

void Upkeep::finish(record::LogWriter& writer, std::optional<std::size_t> spilled) {
  if (path_.empty()) return;
  const std::size_t end = spilled.value_or(writer.open_offset());
  copy_ns_ = 0;
  look(base::monotonic_ns(), end);
  if (!next_ || next_->thinned) return drop_successor();
  constexpr timespec kShortly{0, 1'000'000};
  while (!next_->errand->finished()) ::nanosleep(&kShortly, nullptr);
  follow_up(writer, spilled, base::monotonic_ns());
}

void Upkeep::keep_if_due(std::int64_t now_ns) {
  if (!options_.limits || now_ns < keep_ns_) return;
  keep_ns_ = now_ns + kHourNs;
  if (keeping_ && !keeping_->finished()) return;
  keeping_ = std::make_unique<Errand>(
      [directory = watch::parted_path(path_).first, limits = *options_.limits,
       own = base::identity_of(fd())](const Errand::Stop& /*stop*/) {
        std::string reason;
        const base::File opened = watch::open_own_directory(directory, reason);
        if (opened.valid() && own) store::keep(opened.fd(), limits, *own);
      });
}

void Upkeep::look(std::int64_t now_ns, std::size_t end) {
  if (next_ && !next_->thinned) return;
  Whereabouts where = look_for(fd(), path_);
  if (where.what == Whereabouts::What::kRenamed) {
    drop_successor();
    path_ = std::move(where.path);
    tell({record::MoveReason::kRenamed, path_, {}}, -1);
  } else if (where.what == Whereabouts::What::kGone && now_ns >= copy_ns_) {
    drop_successor();
    begin_copy(now_ns, end);
  }
}

void Upkeep::begin_copy(std::int64_t now_ns, std::size_t end) {
  watch::Place place = watch::create_again(path_);
  if (!place.file.valid()) return go_without_name(place.refusals.front(), now_ns);
  next_ = std::make_unique<Successor>();
  next_->file = std::move(place.file);
  next_->path = std::move(place.path);
  next_->at.from = end;
  next_->errand =
      std::make_unique<Errand>([from = fd(), end, next = next_.get()](const auto& stop) {
        next->good = copy_bytes(from, 0, end, next->file.fd(), 0, stop);
        next->code = errno;
      });
}

void Upkeep::begin_thinning(std::size_t end) {
  thin_at_ = end + options_.most_bytes / 4;  // when it can't be done now
  std::string reason;
  const std::string directory = watch::parted_path(path_).first;
  const base::File opened = watch::open_own_directory(directory, reason);
  struct stat status{};
  if (!opened.valid() || ::fstat(fd(), &status) != 0) return;
  const std::string name = store::temporary_name();
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW;
  base::File file = base::File::try_open_at(opened.fd(), name.c_str(), kFlags, 0600);
  if (!file.valid()) return;
  // One that the user has named may be for others to read.
  if ((status.st_mode & 0777) != 0600) ::fchmod(file.fd(), status.st_mode & 0777);
  next_ = std::make_unique<Successor>();
  next_->file = std::move(file);
  next_->path = fmt::format("{}/{}", directory, name);
  next_->thinned = true;
  next_->errand = std::make_unique<Errand>(
      [from = fd(), end, wished = options_.most_bytes / 2, next = next_.get()](const auto& stop) {
        const auto at = thin(from, end, next->file.fd(), wished, stop);
        next->good = at && !base::fails_at("thin-sync") && ::fdatasync(next->file.fd()) == 0;
        next->code = errno;
        if (at) next->at = *at;
      });
}

void Upkeep::follow_up(record::LogWriter& writer, std::optional<std::size_t> spilled,
                       std::int64_t now_ns) {
  const bool thinned = next_->thinned;
  if (thinned) {
    if (!next_->good || spilled || !move_to_thinned(writer)) return drop_successor();
  } else if (!next_->good || !move_to_copy(writer, spilled)) {
    const int code = next_->good ? errno : next_->code;
    drop_successor();
    return go_without_name(base::errno_text(code), now_ns);
  }
  file_ = std::move(next_->file);
  if (!thinned) path_ = next_->path;
  unnamed_ = false;
  next_.reset();
  if (base::fails_at("thin-told")) return;
  using record::MoveReason;
  tell({thinned ? MoveReason::kThinned : MoveReason::kReplaced, path_, {}}, fd());
  if (!thinned) {
    writer.append(record::Gap{now_ns, now_ns, record::GapReason::kReplaced, {}});
    copy_ns_ = 0;
  } else {
    thin_at_ = std::max(options_.most_bytes, writer.open_offset() + options_.most_bytes / 4);
  }
}

bool Upkeep::move_to_copy(record::LogWriter& writer, std::optional<std::size_t> spilled) {
  if (look_for(next_->file.fd(), next_->path).what != Whereabouts::What::kThere) {
    errno = ENOENT;
    return false;
  }
  const std::size_t from = next_->at.from;
  const std::size_t end = spilled.value_or(writer.open_offset());
  const bool rest =
      end <= from || copy_bytes(fd(), from, end - from, next_->file.fd(), from, kNever);
  return rest && (spilled || writer.move_to(next_->file.fd(), end));
}

bool Upkeep::move_to_thinned(record::LogWriter& writer) {
  const std::size_t before = writer.open_offset();
  const std::uint32_t sequence = writer.sequence();
  if (!copy_chunks(fd(), before, next_->file.fd(), next_->at, kNever)) return false;
  if (!writer.move_to(next_->file.fd(), next_->at.offset, next_->at.sequence)) return false;
  const auto back = [&] {
    writer.move_to(fd(), before, sequence);
    return false;
  };
  // Nobody's file is renamed over but our own.
  if (look_for(fd(), path_).what != Whereabouts::What::kThere || base::fails_at("thin-rename")) {
    return back();
  }
  return ::rename(next_->path.c_str(), path_.c_str()) == 0 || back();
}

void Upkeep::go_without_name(const std::string& reason, std::int64_t now_ns) {
  copy_ns_ = now_ns + kRetryNs;
  if (std::exchange(unnamed_, true)) return;
  tell({record::MoveReason::kUnnamed, path_, reason}, -1);
}

void Upkeep::drop_successor() {
  if (!next_) return;
  next_->errand.reset();
  remove_own(next_->path, next_->file.fd());
  next_.reset();
}

void Upkeep::tell(record::Moved moved, int descriptor) {
  if (tell_(moved, descriptor)) return;
  untold_ = std::move(moved);
  untold_fd_ = descriptor;
}

}  // namespace tools
