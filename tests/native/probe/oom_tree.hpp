#pragma once
// A process in control groups of a made-up tree, whose counts a test lets rise.

#include <string>
#include <string_view>
#include <vector>

#include "host_tree.hpp"
#include "probe/cgroup.hpp"
#include "probe/oom.hpp"
#include "record/text.hpp"

namespace probe {

inline constexpr std::int64_t kMib = 1 << 20;

class OomTree {
 public:
  static constexpr pid_t kPid = 700;

  // `path`: the process's group; `seen`: the group that is mounted ("/": all of them can be seen).
  explicit OomTree(bool unified, const std::string& path, const std::string& seen = "/")
      : unified_(unified), seen_(seen == "/" ? "" : seen) {
    alive();
    tree.write("proc/700/cgroup", (unified ? "0::" : "4:memory:") + path + "\n");
    tree.write("proc/self/mountinfo",
               "35 31 0:32 " + seen + " " + (unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory") +
                   " rw,relatime - " +
                   (unified ? "cgroup2 cgroup2 rw" : "cgroup cgroup rw,memory") + "\n");
    if (seen == "/" && !unified) tree.write(folder("/") + "release_agent", "\n");
    if (seen == "/" && unified) tree.write(folder("/") + "cgroup.controllers", "memory\n");
    vmstat(0);
  }

  void alive() const { status("Name:\tpython\nVmRSS:\t 5004 kB\nSigPnd:\t0000000000000000\n"); }
  void dying() const { status("Name:\tpython\nVmRSS:\t 5004 kB\nSigPnd:\t0000000000000100\n"); }
  void dead() const { status("State:\tZ (zombie)\n"); }
  void status(std::string_view text) const { tree.write("proc/700/status", text); }
  void vmstat(int kills) const {
    tree.write("proc/vmstat", "pgpgin 1\noom_kill " + std::to_string(kills) + "\n");
  }

  [[nodiscard]] std::string folder(const std::string& group) const {
    const std::string below = group.substr(seen_.size());
    return std::string("sys/fs/cgroup") + (unified_ ? "" : "/memory") + below +
           (below.ends_with('/') ? "" : "/");
  }
  // Version 2. `kills_below`: with all groups below.
  void events(const std::string& group, int ooms, int kills, int kills_below = -1) const {
    const auto text = [&](int killed) {
      return "low 0\nhigh 0\nmax 9\noom " + std::to_string(ooms) + "\noom_kill " +
             std::to_string(killed) + "\noom_group_kill 0\n";
    };
    tree.write(folder(group) + "memory.events.local", text(kills));
    tree.write(folder(group) + "memory.events", text(kills_below < 0 ? kills : kills_below));
  }
  void limit(const std::string& group, std::int64_t mib) const {
    const std::string none = unified_ ? "max" : "9223372036854771712";
    put(group, unified_ ? "memory.max" : "memory.limit_in_bytes",
        mib < 0 ? none : std::to_string(mib * kMib));
  }
  void usage(const std::string& group, std::int64_t mib) const {
    put(group, unified_ ? "memory.current" : "memory.usage_in_bytes", std::to_string(mib * kMib));
  }
  void peak(const std::string& group, std::int64_t mib) const {
    put(group, unified_ ? "memory.peak" : "memory.max_usage_in_bytes", std::to_string(mib * kMib));
  }
  // Version 1.
  void kills(const std::string& group, int count) const {
    put(group, "memory.oom_control",
        "oom_kill_disable 0\nunder_oom 0\noom_kill " + std::to_string(count));
  }
  void fails(const std::string& group, int count) const {
    put(group, "memory.failcnt", std::to_string(count));
  }
  void put(const std::string& group, const char* file, const std::string& text) const {
    tree.write(folder(group) + file, text + "\n");
  }

  HostTree tree;

 private:
  bool unified_;
  std::string seen_;
};

// The watch over it, as the sampler does it.
class Watcher {
 public:
  explicit Watcher(const OomTree& tree, OomWatch::ReadMark read_mark = nullptr)
      : cgroups_(tree.tree.root(), OomTree::kPid),
        watch_(tree.tree.root(), OomTree::kPid, cgroups_, read_mark) {}

  void look(bool full = true) {
    watch_.look(cgroups_, full, {node_mib * kMib, 16384 * kMib}, buffer_);
  }
  void move() {
    EXPECT_TRUE(cgroups_.look(buffer_));
    look();
  }
  // "" when it wasn't for want of memory.
  [[nodiscard]] std::string end() {
    const auto end = watch_.end(buffer_);
    return end ? record::end_text(*end) : "";
  }

  std::int64_t node_mib = 4096;  // in use

 private:
  Cgroups cgroups_;
  OomWatch watch_;
  std::vector<char> buffer_ = std::vector<char>(1 << 15);
};

}  // namespace probe
