#pragma once
// What a Recording holds; only for recording.cpp and window.cpp.

#include "base/file.hpp"
#include "store/chunk_index.hpp"
#include "store/log_bytes.hpp"
#include "store/recording.hpp"

namespace store {

struct Recording::State {
  base::File own;    // open() only
  std::string path;  // open() only
  LogBytes bytes;
  ChunkIndex index;
  bool opened = false;  // by name, not followed
  std::size_t size = 0;
  std::uint8_t newer_version = 0;  // met in a whole chunk; else 0

  bool refresh();
  void reopen_if_replaced();
  bool look_once();
  bool read_from_final_end();
};

}  // namespace store
