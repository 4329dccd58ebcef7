#include "store/earlier.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <variant>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "record/codec.hpp"
#include "record/log.hpp"

namespace store {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::size_t kHeadBytes = 16384;  // a machine record takes some 500, and comes first
constexpr std::size_t kTailBytes = 4096;   // an end and what was told take some 300
constexpr std::size_t kMostHeads = 1000;
constexpr std::string_view kSuffix = ".jumper";

struct Entry {
  std::string name;
  std::int64_t written_ns = 0;
};

bool is_ours(const struct stat& status) noexcept {
  return S_ISREG(status.st_mode) && status.st_uid == ::geteuid();
}

std::vector<Entry> entries_of(const base::File& directory, std::int64_t not_before_wall_ns) {
  std::vector<Entry> entries;
  // closedir() closes a descriptor of its own.
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(directory.duplicate().release()),
                                                    [](DIR* one) { return ::closedir(one); });
  if (!listing) return entries;
  while (const dirent* one = ::readdir(listing.get())) {
    struct stat status{};
    if (!std::string_view(one->d_name).ends_with(kSuffix) ||
        ::fstatat(directory.fd(), one->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !is_ours(status)) {
      continue;
    }
    const std::int64_t written_ns =
        static_cast<std::int64_t>(status.st_mtim.tv_sec) * kSecondNs + status.st_mtim.tv_nsec;
    if (written_ns >= not_before_wall_ns) entries.push_back({one->d_name, written_ns});
  }
  std::ranges::sort(entries, std::ranges::greater(), &Entry::written_ns);
  return entries;
}

bool has_label(const base::File& directory, const std::string& name, std::string_view label) {
  const base::File file =
      base::File::try_open_at(directory.fd(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  std::array<char, kHeadBytes> head{};
  const auto size = file.valid() ? base::read_at(file.fd(), head, 0) : std::nullopt;
  if (!size) return false;
  record::LogReader reader(std::string_view(head.data(), *size));
  const auto chunk = reader.next();
  if (!chunk || chunk->kind != record::ChunkKind::kMachine) return false;
  const auto record = record::decode(chunk->kind, chunk->payload);
  return record && std::get<record::Machine>(*record).label == label;
}

// Of chunks that only say how it ended, up to the very end; nullopt where others are among them.
std::optional<bool> says_quiet(std::string_view chunks) {
  bool quiet = false;
  record::LogReader reader(chunks);
  std::size_t end = 0;
  while (const auto chunk = reader.next()) {
    const bool first = end == 0;
    if (chunk->offset != end) return std::nullopt;
    end = chunk->end;
    const auto record = record::decode(chunk->kind, chunk->payload);
    if (!record) return std::nullopt;
    if (const auto* found = std::get_if<record::End>(&*record); found != nullptr && first) {
      quiet = found->cause == record::EndCause::kClosed;
    } else if (std::holds_alternative<record::Told>(*record)) {
      quiet = true;
    } else {
      return std::nullopt;
    }
  }
  return end == chunks.size() ? std::optional(quiet) : std::nullopt;
}

}  // namespace

bool ended_quietly(const std::string& path) {
  const base::File file = base::File::try_open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  struct stat status{};
  if (!file.valid() || ::fstat(file.fd(), &status) != 0 || !is_ours(status)) return false;
  std::array<char, kTailBytes> bytes{};
  const auto size = static_cast<std::size_t>(status.st_size);
  const std::size_t begin = size - std::min(size, bytes.size());
  const auto count = base::read_at(file.fd(), bytes, static_cast<off_t>(begin));
  if (!count) return false;
  const std::string_view tail(bytes.data(), *count);
  for (std::size_t at = tail.find(record::kMagic); at != tail.npos;
       at = tail.find(record::kMagic, at + 1)) {
    if (const auto quiet = says_quiet(tail.substr(at))) return *quiet;
  }
  return false;
}

std::vector<std::string> earlier_recordings(const std::string& directory, std::string_view label,
                                            std::string_view own_path,
                                            std::int64_t not_before_wall_ns) {
  std::vector<std::string> paths;
  const base::File opened = base::File::try_open(directory.c_str(), O_RDONLY | O_DIRECTORY);
  if (!opened.valid()) return paths;
  std::vector<Entry> entries = entries_of(opened, not_before_wall_ns);
  if (entries.size() > kMostHeads) entries.resize(kMostHeads);
  for (const Entry& one : entries) {
    std::string path = directory + "/" + one.name;
    if (path != own_path && has_label(opened, one.name, label)) paths.push_back(std::move(path));
  }
  return paths;
}

bool mark_told(const std::string& path) {
  const base::File file =
      base::File::try_open(path.c_str(), O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK);
  struct stat status{};
  std::array<char, record::kMagic.size()> magic{};
  if (!file.valid() || ::fstat(file.fd(), &status) != 0 || !is_ours(status) ||
      status.st_nlink != 1 || base::read_at(file.fd(), magic, 0) != magic.size() ||
      std::string_view(magic.data(), magic.size()) != record::kMagic) {
    return false;
  }
  std::string payload;
  record::encode(record::Told{base::clock_ns(CLOCK_REALTIME)}, payload);
  std::string chunk;
  record::append_chunk(record::ChunkKind::kTold, 0, payload, chunk);
  return base::write_all(file.fd(), chunk);
}

}  // namespace store
