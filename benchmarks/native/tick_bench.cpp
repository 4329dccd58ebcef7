// The sampler's tick and its parsers, in CPU time. Caches are warm here: at 10 Hz they aren't, and
// a tick costs two to four times as much (tick_at_10_hz).

#include <benchmark/benchmark.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "probe/cpu.hpp"
#include "probe/memory.hpp"
#include "probe/process_io.hpp"
#include "probe/process_stat.hpp"
#include "probe/sampler.hpp"
#include "probe/storage.hpp"

namespace {

// A root with children that sleep, or that spin now and then so that each has run before a tick.
class Tree {
 public:
  Tree(int processes, bool busy) {
    int ready[2];
    if (::pipe(ready) != 0) std::abort();
    root_ = ::fork();
    if (root_ == 0) {
      ::setpgid(0, 0);
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (int i = 1; i < processes; ++i) {
        if (::fork() == 0) {
          ::prctl(PR_SET_PDEATHSIG, SIGKILL);
          play(busy);
        }
      }
      static_cast<void>(!::write(ready[1], "!", 1));
      play(busy);
    }
    char sign = 0;
    static_cast<void>(!::read(ready[0], &sign, 1));
    ::close(ready[0]);
    ::close(ready[1]);
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  ~Tree() {
    ::kill(-root_, SIGKILL);
    ::waitpid(root_, nullptr, 0);
  }
  [[nodiscard]] pid_t root() const { return root_; }

 private:
  [[noreturn]] static void play(bool busy) {
    const timespec pause{busy ? 0 : 1000, 20'000'000};
    for (;;) ::nanosleep(&pause, nullptr);
  }
  pid_t root_;
};

std::int64_t cpu_ns() { return base::clock_ns(CLOCK_PROCESS_CPUTIME_ID); }

void tick(benchmark::State& state, bool busy, std::int64_t pause_ns) {
  const Tree tree(static_cast<int>(state.range(0)), busy);
  probe::Sampler sampler(
      probe::SamplerOptions{.root_pid = tree.root(), .excluded_pid = ::getpid()});
  record::Sample sample;
  sample.values.resize(sampler.columns().size());
  const timespec pause{0, pause_ns};
  for (auto _ : state) {
    if (pause_ns > 0) ::nanosleep(&pause, nullptr);
    const std::int64_t before = cpu_ns();
    sampler.tick(sample, base::monotonic_ns());
    state.SetIterationTime(static_cast<double>(cpu_ns() - before) * 1e-9);
  }
}

void tick_of_sleepers(benchmark::State& state) { tick(state, false, 0); }
void tick_at_10_hz(benchmark::State& state) { tick(state, false, 100'000'000); }
void tick_at_10_hz_all_running(benchmark::State& state) { tick(state, true, 100'000'000); }

BENCHMARK(tick_of_sleepers)
    ->Arg(1)
    ->Arg(100)
    ->Arg(500)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(tick_at_10_hz)
    ->Arg(1)
    ->Arg(100)
    ->Arg(500)
    ->Iterations(40)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(tick_at_10_hz_all_running)
    ->Arg(1)
    ->Arg(100)
    ->Arg(500)
    ->Iterations(40)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

void edge(benchmark::State& state) {
  probe::EdgeReader reader;
  for (auto _ : state) benchmark::DoNotOptimize(reader.read());
}
BENCHMARK(edge);

std::string text_of(const char* path) { return base::read_small_file(path).value_or(""); }

void parse_stat_of_1024_cores(benchmark::State& state) {
  std::string text = "cpu  102400 0 0 9000 0 0 0 0 0 0\n";
  for (int core = 0; core < 1024; ++core) {
    text += "cpu" + std::to_string(core) + " 123456 789 4567 9000000 123 0 45 6 0 0\n";
  }
  text += "processes 5854\n";
  std::vector<record::Value> cores(1024);
  for (auto _ : state) benchmark::DoNotOptimize(probe::parse_stat(text, cores));
}
BENCHMARK(parse_stat_of_1024_cores);

template <typename Parser>
void parse(benchmark::State& state, const char* path, Parser parser) {
  const std::string text = text_of(path);
  for (auto _ : state) benchmark::DoNotOptimize(parser(text));
}
BENCHMARK_CAPTURE(parse, pid_stat, "/proc/self/stat", probe::parse_pid_stat);
BENCHMARK_CAPTURE(parse, pid_io, "/proc/self/io", probe::parse_pid_io);
BENCHMARK_CAPTURE(parse, meminfo, "/proc/meminfo", probe::parse_meminfo);
BENCHMARK_CAPTURE(parse, vmstat, "/proc/vmstat", probe::parse_vmstat);

}  // namespace
