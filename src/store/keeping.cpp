#include "store/keeping.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/failpoint.hpp"
#include "record/codec.hpp"
#include "record/log.hpp"
#include "store/liveness.hpp"

namespace store {
namespace {

constexpr std::int64_t kDayNs = std::int64_t{24} * 3600 * 1'000'000'000;
constexpr std::size_t kHeadBytes = 16U << 10;
constexpr std::size_t kTailBytes = 8U << 10;
constexpr std::string_view kPart = ".part";
constexpr std::string_view kSampler = "(jumper) ";  // in /proc/PID/stat, the state follows

struct Entry {
  std::string name;
  struct stat status{};

  [[nodiscard]] std::int64_t written_ns() const { return base::to_ns(status.st_mtim); }
  [[nodiscard]] base::FileIdentity identity() const { return {status.st_dev, status.st_ino}; }
};

bool is_plain_file_of_ours(const struct stat& status) {
  return S_ISREG(status.st_mode) && status.st_nlink == 1 && status.st_uid == ::geteuid();
}

bool is_ours_alone(int directory_fd) {
  struct stat status{};
  return ::fstat(directory_fd, &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid() && (status.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

bool takes_digits(std::string_view& text, std::size_t least, std::size_t most, bool hex = false) {
  std::size_t count = 0;
  while (count < text.size() && count < most &&
         ((text[count] >= '0' && text[count] <= '9') ||
          (hex && text[count] >= 'a' && text[count] <= 'f'))) {
    ++count;
  }
  if (count < least) return false;
  text.remove_prefix(count);
  return true;
}

bool takes(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text.remove_prefix(what.size());
  return true;
}

template <typename Wanted>
std::vector<Entry> entries_of(int directory_fd, Wanted wanted) {
  std::vector<Entry> entries;
  // A descriptor of its own: the position is shared by duplicates.
  base::File own = base::File::try_open_at(directory_fd, ".", O_RDONLY | O_DIRECTORY);
  if (!own.valid()) return entries;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::fdopendir(own.fd()), ::closedir);
  if (!directory) return entries;
  static_cast<void>(own.release());
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string_view name(&entry->d_name[0]);
    if (!wanted(name)) continue;
    Entry one{std::string(name), {}};
    if (::fstatat(directory_fd, one.name.c_str(), &one.status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !is_plain_file_of_ours(one.status)) {
      continue;
    }
    entries.push_back(std::move(one));
  }
  return entries;
}

std::string boot_id() {
  const auto text = base::read_small_file("/proc/sys/kernel/random/boot_id");
  return text ? text->substr(0, 8) : "unknown";
}

std::uint64_t process_namespace() {
  struct stat status{};
  return ::stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

bool sampler_lives(std::int64_t pid) {
  const auto stat = base::read_small_file(fmt::format("/proc/{}/stat", pid), 4096);
  const std::size_t name = stat ? stat->find(kSampler) : std::string::npos;
  if (name == std::string::npos) return false;
  const char state = (*stat)[name + kSampler.size()];
  return state != 'Z' && state != 'X';
}

// True when none of the recording's processes is seen here.
bool nobody_lives(std::string_view head) {
  record::LogReader reader(head);
  const auto chunk = reader.next();
  if (!chunk) return true;
  const auto record = record::decode(chunk->kind, chunk->payload);
  const auto* machine = record ? std::get_if<record::Machine>(&*record) : nullptr;
  if (machine == nullptr) return true;
  return !may_still_run(*machine, 0) &&
         (!machine->boot_id.starts_with(boot_id()) || !sampler_lives(machine->sampler_pid));
}

bool has_end(std::string_view tail) {
  record::LogReader reader(tail);
  while (const auto chunk = reader.next()) {
    if (chunk->kind == record::ChunkKind::kEnd) return true;
  }
  return false;
}

// Opens it once more as what it was when it was listed. Invalid when it is something else by now.
base::File reopen(int directory_fd, const Entry& entry) {
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  base::File file = base::File::try_open_at(directory_fd, entry.name.c_str(), kFlags);
  struct stat status{};
  if (!file.valid() || ::fstat(file.fd(), &status) != 0 || !is_plain_file_of_ours(status) ||
      base::FileIdentity{status.st_dev, status.st_ino} != entry.identity()) {
    return {};
  }
  return file;
}

bool is_finished(int directory_fd, const Entry& entry, std::int64_t now_ns) {
  const base::File file = reopen(directory_fd, entry);
  if (!file.valid()) return false;
  std::string head(kHeadBytes, '\0');
  head.resize(base::read_at(file.fd(), head, 0).value_or(0));
  if (!record::looks_like_recording(head)) return false;
  const auto size = base::file_size(file.fd());
  if (!size) return false;
  std::string tail(std::min(*size, kTailBytes), '\0');
  tail.resize(base::read_at(file.fd(), tail, static_cast<off_t>(*size - tail.size())).value_or(0));
  return has_end(tail) || (now_ns - entry.written_ns() > kDayNs && nobody_lives(head));
}

bool remove(int directory_fd, const Entry& entry) {
  struct stat status{};
  if (::fstatat(directory_fd, entry.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
      !is_plain_file_of_ours(status) ||
      base::FileIdentity{status.st_dev, status.st_ino} != entry.identity() ||
      status.st_size != entry.status.st_size) {
    return false;
  }
  return !base::fails_at("keep") && ::unlinkat(directory_fd, entry.name.c_str(), 0) == 0;
}

// ".BOOT-NAMESPACE-PID-CHANCE.part"
bool is_temporary_name(std::string_view name) noexcept {
  return takes(name, ".") && takes_digits(name, 8, 8, true) && takes(name, "-") &&
         takes_digits(name, 1, 16, true) && takes(name, "-") && takes_digits(name, 1, 10) &&
         takes(name, "-") && takes_digits(name, 16, 16, true) && name == kPart;
}

void remove_dead_copies(int directory_fd, std::int64_t now_ns) {
  const std::string here = fmt::format(".{}-{:x}-", boot_id(), process_namespace());
  for (const Entry& entry : entries_of(directory_fd, is_temporary_name)) {
    bool dead = now_ns - entry.written_ns() > kDayNs;
    if (entry.name.starts_with(here)) {
      const std::size_t begin = here.size();
      dead = !sampler_lives(std::strtol(entry.name.c_str() + begin, nullptr, 10));
    }
    if (dead) remove(directory_fd, entry);
  }
}

}  // namespace

bool is_own_name(std::string_view name) noexcept {
  if (!takes_digits(name, 8, 8) || !takes(name, "T") || !takes_digits(name, 6, 6) ||
      !takes(name, "-") || !takes_digits(name, 1, 10) || !takes(name, "-") ||
      !takes_digits(name, 8, 8, true)) {
    return false;
  }
  if (takes(name, "-") && !takes_digits(name, 1, 2)) return false;
  return name == ".jumper";
}

std::string temporary_name() {
  std::uint64_t chance = 0;
  if (::getrandom(&chance, sizeof chance, GRND_NONBLOCK) < 0) {
    chance = static_cast<std::uint64_t>(base::monotonic_ns());
  }
  return fmt::format(".{}-{:x}-{}-{:016x}{}", boot_id(), process_namespace(), ::getpid(), chance,
                     kPart);
}

Kept count_kept(int directory_fd) {
  Kept kept;
  if (!is_ours_alone(directory_fd)) return kept;
  for (const Entry& entry : entries_of(directory_fd, is_own_name)) {
    ++kept.recordings;
    kept.bytes += entry.status.st_size;
  }
  return kept;
}

Kept keep(int directory_fd, const KeepLimits& limits, const base::FileIdentity& own) {
  Kept kept;
  if (!is_ours_alone(directory_fd)) return kept;
  const std::int64_t now_ns = base::clock_ns(CLOCK_REALTIME);
  remove_dead_copies(directory_fd, now_ns);
  std::vector<Entry> entries = entries_of(directory_fd, is_own_name);
  std::ranges::sort(entries, {}, [](const Entry& entry) { return entry.written_ns(); });
  kept.recordings = entries.size();
  for (const Entry& entry : entries) kept.bytes += entry.status.st_size;
  for (const Entry& entry : entries) {
    const bool old = (now_ns - entry.written_ns()) / kDayNs >= limits.days;
    if (!old && kept.bytes <= limits.bytes) continue;
    if (entry.identity() == own || !is_finished(directory_fd, entry, now_ns) ||
        !remove(directory_fd, entry)) {
      continue;
    }
    --kept.recordings;
    kept.bytes -= entry.status.st_size;
  }
  return kept;
}

}  // namespace store
