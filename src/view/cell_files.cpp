#include "view/cell_files.hpp"

#include <charconv>
#include <cstring>
#include <optional>

#include "view/live.hpp"

namespace view {
namespace {

constexpr std::string_view kFolder = "/ipykernel_";
constexpr std::string_view kEnding = ".py:";
constexpr std::size_t kMostSourceBytes = 8U << 20;

struct FileName {
  std::uint32_t hash = 0;
  std::size_t begin = 0;  // in the line
  std::size_t end = 0;
};

std::optional<FileName> find_file(const std::string& line) {
  const std::size_t folder = line.find(kFolder);
  const std::size_t begin = line.find_first_not_of(' ');
  if (folder == line.npos || line[begin] != '/') return std::nullopt;
  const std::size_t number = line.find('/', folder + kFolder.size());
  if (number == line.npos) return std::nullopt;
  FileName found{0, begin, 0};
  const char* end = line.data() + line.size();
  const auto [rest, error] = std::from_chars(line.data() + number + 1, end, found.hash);
  found.end = static_cast<std::size_t>(rest - line.data()) + kEnding.size() - 1;
  if (error != std::errc() || !std::string_view(rest, end).starts_with(kEnding)) {
    return std::nullopt;
  }
  return found;
}

}  // namespace

std::uint32_t cell_hash(std::string_view code) noexcept {
  constexpr std::uint32_t kSeed = 0xC70F6907;
  constexpr std::uint32_t kFactor = 0x5BD1E995;
  std::uint32_t hash = kSeed ^ static_cast<std::uint32_t>(code.size());
  while (code.size() >= sizeof hash) {
    std::uint32_t word = 0;
    std::memcpy(&word, code.data(), sizeof word);  // little-endian, as both our machines are
    word *= kFactor;
    word ^= word >> 24U;
    hash = (hash * kFactor) ^ (word * kFactor);
    code.remove_prefix(sizeof word);
  }
  if (!code.empty()) {
    std::uint32_t word = 0;
    std::memcpy(&word, code.data(), code.size());
    hash = (hash ^ word) * kFactor;
  }
  hash = (hash ^ (hash >> 13U)) * kFactor;
  return hash ^ (hash >> 15U);
}

std::string CellNames::shown(std::string line) {
  const auto file = find_file(line);
  if (!file) return line;
  if (!names_) {
    names_.emplace();
    const auto& cells = recording_.cells();
    std::size_t bytes = 0;
    for (auto cell = cells.rbegin(); cell != cells.rend() && bytes < kMostSourceBytes; ++cell) {
      const std::string source = recording_.source(*cell);
      bytes += source.size() + 1;
      names_->try_emplace(cell_hash(source), cell_name(*cell));
    }
  }
  const auto name = names_->find(file->hash);
  if (name == names_->end()) return line;
  return line.substr(0, file->begin) + name->second + line.substr(file->end);
}

}  // namespace view
