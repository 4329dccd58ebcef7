#pragma once
// ipykernel compiles each cell under the name of a file that is never written:
// /tmp/ipykernel_4242/2987452017.py, the number being a hash of the code. IPython shows the cell.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "store/recording.hpp"

namespace view {

// MurmurHash2, 32 bits, with ipykernel's seed (ipykernel/compiler.py, get_tmp_hash_seed).
std::uint32_t cell_hash(std::string_view code) noexcept;

class CellNames {
 public:
  // The recording must stay as it is.
  explicit CellNames(const store::Recording& recording) noexcept : recording_(recording) {}

  // `line` with the file of a cell by its name: "  In [3]:12 in fit" for
  // "  /tmp/ipykernel_4242/2987452017.py:12 in fit". As it is where none of the newest cells has
  // that code: the first time their sources are read, 8 MiB at most in all.
  std::string shown(std::string line);

 private:
  const store::Recording& recording_;
  std::optional<std::unordered_map<std::uint32_t, std::string>> names_;  // by hash
};

}  // namespace view
