#include "probe/lustre.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/file.hpp"
#include "probe/scan.hpp"

namespace probe {
namespace {

constexpr std::size_t kMostTextBytes = 1U << 16;
constexpr std::size_t kMostMounts = 64;

// Lustre's word, and which of kLustreCounts it is; of bytes the number of samples is one, too.
struct Word {
  std::string_view name;
  std::size_t count;
};
constexpr std::array<Word, 14> kWords{{{"read_bytes", 2},
                                       {"write_bytes", 3},
                                       {"open", 4},
                                       {"close", 5},
                                       {"seek", 6},
                                       {"fsync", 7},
                                       {"getattr", 8},
                                       {"setattr", 9},
                                       {"readdir", 10},
                                       {"create", 11},
                                       {"unlink", 12},
                                       {"rename", 13},
                                       {"mkdir", 14},
                                       {"rmdir", 15}}};
constexpr std::size_t kByteWords = 2;

}  // namespace

std::optional<LustreCounts> parse_lustre_stats(std::string_view text) noexcept {
  LustreCounts counts{};
  bool begun = false;
  for (Scanner lines(text); !lines.done();) {
    Scanner words(lines.line());
    const std::string_view name = words.word();
    begun = begun || name == "snapshot_time";
    const auto known = std::ranges::find(kWords, name, &Word::name);
    if (known == kWords.end()) continue;
    const auto samples = words.number();
    if (!samples) return std::nullopt;
    counts[known->count] = *samples;
    const auto place = static_cast<std::size_t>(known - kWords.begin());
    if (place >= kByteWords || words.word() != "samples" || words.word() != "[bytes]") continue;
    words.skip_words(2);  // the least and the most
    const auto sum = words.number();
    if (!sum) return std::nullopt;
    counts[place] = *sum;
  }
  return begun ? std::optional(counts) : std::nullopt;
}

std::vector<LustreMount> read_lustre(const std::string& root, bool& refused) {
  std::vector<LustreMount> mounts;
  for (const char* place : {"/proc/fs/lustre/llite", "/sys/kernel/debug/lustre/llite"}) {
    std::error_code error;
    std::filesystem::directory_iterator entry(root + place, error);
    refused = refused || error == std::errc::permission_denied;
    for (; !error && entry != std::filesystem::directory_iterator() && mounts.size() < kMostMounts;
         entry.increment(error)) {
      const std::string name = entry->path().filename();
      const auto text = base::read_small_file(entry->path() / "stats", kMostTextBytes);
      const auto counts = text ? parse_lustre_stats(*text) : std::nullopt;
      refused = refused || !text;
      if (counts) mounts.push_back({name.substr(0, name.rfind('-')), *counts});
    }
    if (!mounts.empty()) break;
  }
  return mounts;
}

}  // namespace probe
