#pragma once
// A root with proc/ and sys/ in a temporary folder, for what no machine at hand shows.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace probe {

class HostTree {
 public:
  HostTree() {
    std::string pattern = (std::filesystem::temp_directory_path() / "host-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    root_ = pattern;
    std::filesystem::create_directories(root_ / "proc");
  }
  HostTree(const HostTree&) = delete;
  HostTree& operator=(const HostTree&) = delete;
  ~HostTree() { std::filesystem::remove_all(root_); }

  [[nodiscard]] std::string root() const { return root_.string(); }

  // Writes (again, in place: kept descriptors see it) the file at `path` below the root.
  void write(std::string_view path, std::string_view text) const {
    const auto file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
  }

  // A process of which everything is there.
  void write_process(int pid, int parent, std::string_view name = "python", int session = 1) const {
    const std::string folder = "proc/" + std::to_string(pid) + "/";
    write(folder + "stat", std::to_string(pid) + " (" + std::string(name) + ") S " +
                               std::to_string(parent) + " 1 " + std::to_string(session) +
                               " 0 -1 4194560 10 0 0 0 7 3 2 1 20 0 2 0 500 4096000 1000 1\n");
    write(folder + "io",
          "rchar: 100\nwchar: 200\nsyscr: 3\nsyscw: 4\nread_bytes: 4096\nwrite_bytes: 8192\n"
          "cancelled_write_bytes: 0\n");
    write(folder + "status",
          "Name:\tpython\nSigIgn:\t0000000001001000\n"
          "Cpus_allowed_list:\t0-3\nVmHWM:\t    4000 kB\n");
  }

  // `cores` lines; the core `offline` is left out.
  static std::string stat_text(int cores, int offline = -1, int busy = 100, int forks = 5000) {
    std::string text = "cpu  " + std::to_string(busy * cores) + " 0 0 9000 0 0 0 0 0 0\n";
    for (int core = 0; core < cores; ++core) {
      if (core == offline) continue;
      text += "cpu" + std::to_string(core) + " " + std::to_string(busy) + " 0 0 9000 0 0 0 0 0 0\n";
    }
    text += "intr 1 2 3\nctxt 345100\nbtime 1795964014\nprocesses " + std::to_string(forks) +
            "\nprocs_running 4\nprocs_blocked 0\nsoftirq 1 2\n";
    return text;
  }

 private:
  std::filesystem::path root_;
};

}  // namespace probe
