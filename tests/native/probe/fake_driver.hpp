#pragma once
// A machine with the fake NVML (tests/fake_nvml), as a script says, and a root with proc/.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "actor.hpp"
#include "base/clock.hpp"
#include "host_tree.hpp"
#include "probe/gpu.hpp"

namespace probe {

inline constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;
inline constexpr std::int64_t kSecond = 1'000'000'000;
inline constexpr std::int64_t kPatience = 100 * kSecond;

inline std::size_t entries_of(const char* folder) {
  const std::filesystem::directory_iterator begin(folder);
  return static_cast<std::size_t>(std::distance(begin, std::filesystem::directory_iterator()));
}

class FakeDriver {
 public:
  explicit FakeDriver(const std::string& version = "today") : version_(version) {
    namespace_link("pid:[4026531836]");
    ::setenv("JUMPER_FAKE_NVML", script().c_str(), 1);
  }
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;
  ~FakeDriver() { ::unsetenv("JUMPER_FAKE_NVML"); }

  [[nodiscard]] const HostTree& host() const { return host_; }
  [[nodiscard]] std::string library() const {
    return std::string(JUMPER_FAKE_NVML_FOLDER) + "/" + version_ + "/libnvidia-ml.so.1";
  }
  [[nodiscard]] std::string script() const { return host_.root() + "/script"; }
  [[nodiscard]] GpuOptions options() const {
    GpuOptions options;
    options.root = host_.root();
    options.library = library();
    options.patience_ns = kPatience;  // a busy machine is no driver that hangs
    return options;
  }
  [[nodiscard]] std::string fifo() const {
    const std::string path = host_.root() + "/fifo";
    ::mkfifo(path.c_str(), 0600);
    return path;
  }

  // Sets a line, or takes it away ("").
  void set(const std::string& key, const std::string& value) { set({{key, value}}); }
  // Several at once.
  void set(const std::map<std::string, std::string>& lines) {
    for (const auto& [key, value] : lines) {
      lines_[key] = value;
      if (value.empty()) lines_.erase(key);
    }
    write();
  }

  // A card of which everything is there; numbers differ from card to card.
  void add_card(int index) {
    const std::string gpu = "gpu" + std::to_string(index) + ".";
    const auto number = [&](int base) { return std::to_string(base + index); };
    const auto used = std::to_string((index + 1) * 10 * kGibibyte);
    lines_["cards"] = std::to_string(
        std::max(index + 1, lines_.contains("cards") ? std::stoi(lines_["cards"]) : 0));
    lines_[gpu + "name"] = "NVIDIA A100-SXM4-80GB";
    lines_[gpu + "uuid"] = uuid(index);
    lines_[gpu + "bus"] = "0 " + number(50) + " 0";
    lines_[gpu + "memory"] = std::to_string(80 * kGibibyte) + " " + used + " 1000";
    lines_[gpu + "utilization"] = number(30) + " " + number(10);
    lines_[gpu + "power"] = number(250'000);
    lines_[gpu + "energy"] = number(7'000'000);
    lines_[gpu + "temperature"] = number(60);
    lines_[gpu + "sm_clock"] = number(1400);
    lines_[gpu + "memory_clock"] = number(1500);
    lines_[gpu + "throttle"] = number(4);
    write();
  }

  // A MIG slice of a card that was added, and the card in MIG mode.
  void add_slice(int card, int slice, std::int64_t used_bytes, std::int64_t total_bytes) {
    const std::string gpu = "gpu" + std::to_string(card);
    const std::string name = gpu + "_mig" + std::to_string(slice) + ".";
    lines_[gpu + ".mig"] += " " + std::to_string(slice);
    lines_.erase(gpu + ".utilization");
    lines_[name + "name"] = "NVIDIA A100-SXM4-80GB MIG 1g.20gb";
    lines_[name + "uuid"] = mig_uuid(slice);
    lines_[name + "memory"] = std::to_string(total_bytes) + " " + std::to_string(used_bytes) + " 0";
    lines_[name + "instances"] = std::to_string(slice + 1) + " 0";
    write();
  }

  // "GPU-2a2a2a2a-…": the first eight digits of each are its own.
  static std::string uuid(int index) {
    const std::string two =
        std::string(1, static_cast<char>('0' + index % 10)) + static_cast<char>('a' + index / 10);
    return "GPU-" + two + two + two + two + "-aaaa-bbbb-cccc-ddddeeeeffff";
  }
  static std::string mig_uuid(int slice) {
    return "MIG-" + std::to_string(slice) + "0000000-aaaa-bbbb-cccc-ddddeeeeffff";
  }

  // In which pid namespace we seem to be.
  void namespace_link(const std::string& text) const {
    const std::filesystem::path folder = host_.root() + "/proc/self/ns";
    std::filesystem::create_directories(folder);
    std::filesystem::remove(folder / "pid");
    std::filesystem::create_symlink(text, folder / "pid");
  }

  // How often a noted function was called.
  [[nodiscard]] int calls(const std::string& function) const {
    std::ifstream file(script() + ".calls");
    int count = 0;
    for (std::string line; std::getline(file, line);) count += line == function;
    return count;
  }

 private:
  void write() const {
    // Renamed into its place: no call reads half of it.
    const std::string fresh = script() + ".new";
    {
      std::ofstream file(fresh, std::ios::trunc);
      for (const auto& [key, value] : lines_) file << key << " = " << value << "\n";
    }
    std::filesystem::rename(fresh, script());
  }

  HostTree host_;
  std::string version_;
  std::map<std::string, std::string> lines_;
};

// Lets the thread that waits in a FIFO of the script go on.
inline void release(const std::string& fifo) {
  const auto open_it = [&] { return ::open(fifo.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC); };
  int fd = -1;
  ASSERT_TRUE(eventually([&] { return (fd = open_it()) >= 0; }));
  ::close(fd);
}

// The tick: Gpus with what it has said and shown.
struct GpuTick {
  explicit GpuTick(const GpuOptions& options) : gpus(options, missing) {}

  // One tick, `later_ns` after now.
  std::map<std::string, record::Value> read(std::int64_t later_ns = 0) {
    gpus.columns_changed();
    for (auto& device : gpus.take_devices()) devices.push_back(device);
    std::vector<record::Value> values(gpus.columns().size(), 12345);
    gpus.read(values, Turn{base::monotonic_ns() + later_ns, true, {}});
    std::map<std::string, record::Value> named;
    for (std::size_t i = 0; i < values.size(); ++i) named[gpus.columns()[i].name] = values[i];
    return named;
  }
  record::Value value(const std::string& name) {
    const auto values = read();
    const auto found = values.find(name);
    return found == values.end() ? record::unknown(record::State::kNotYet) : found->second;
  }
  // Ticks until the column has the value.
  [[nodiscard]] testing::AssertionResult becomes(const std::string& name, record::Value wanted) {
    record::Value seen = 0;
    if (eventually([&] { return (seen = value(name)) == wanted; })) {
      return testing::AssertionSuccess();
    }
    return testing::AssertionFailure() << name << " stays " << seen << ", not " << wanted;
  }
  // Ticks until the thread has given up.
  [[nodiscard]] bool gives_up() {
    if (!eventually([&] { return !gpus.running(); })) return false;
    read();
    return true;
  }
  // Ticks until something is said about `name`.
  [[nodiscard]] bool says(const std::string& name) {
    return eventually([&] { return read(), note(name) != nullptr; });
  }
  // The cards in the order of their columns, by their memory: "gpu3 gpu1".
  [[nodiscard]] std::string shown() const {
    std::string names;
    for (const auto& column : gpus.columns()) {
      constexpr std::string_view kEnd = ".capacity_memory_bytes";
      if (!column.name.ends_with(kEnd)) continue;
      names += names.empty() ? "" : " ";
      names += column.name.substr(5, column.name.size() - 5 - kEnd.size());
    }
    return names;
  }
  [[nodiscard]] const record::Missing* note(const std::string& name) const {
    for (const auto& one : missing.list()) {
      if (one.name == name) return &one;
    }
    return nullptr;
  }
  [[nodiscard]] std::string reason(const std::string& name) const {
    const auto* one = note(name);
    return one == nullptr ? "(nothing was said)" : one->reason;
  }

  MissingList missing;
  std::vector<record::Device> devices;
  Gpus gpus;
};

// After each test no thread and no descriptor is left.
class GpuTest : public testing::Test {
 protected:
  GpuTest() {
    // A sanitizer starts a thread of its own with the first one.
    std::string task;
    std::thread([&] { task = "/proc/self/task/" + std::to_string(::gettid()); }).join();
    EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(task); }));
    threads_ = entries_of("/proc/self/task");
    files_ = entries_of("/proc/self/fd");
  }
  ~GpuTest() override {
    EXPECT_TRUE(eventually([&] { return entries_of("/proc/self/task") == threads_; }));
    EXPECT_EQ(entries_of("/proc/self/fd"), files_);
  }

 private:
  std::size_t threads_ = 0;
  std::size_t files_ = 0;
};

}  // namespace probe
