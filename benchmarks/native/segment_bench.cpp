// Segments: two ways to fill one, and asking what was changed with and without the pagemap.

#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <vector>

#include "base/memory.hpp"
#include "transfer/copy.hpp"
#include "transfer/mapping.hpp"
#include "transfer/segment.hpp"

namespace {

constexpr std::size_t kBytes = std::size_t{1} << 30;

const std::vector<std::byte>& source() {
  static const std::vector<std::byte> bytes(kBytes, std::byte{1});
  return bytes;
}

base::File filled(int threads) {
  transfer::SegmentWriter writer(transfer::Transport::kMemfd);
  writer.add(source());
  return writer.finish(threads);
}

void segment_by_writing(benchmark::State& state) {
  source();
  for (auto _ : state) filled(static_cast<int>(state.range(0)));
}
BENCHMARK(segment_by_writing)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

// What `finish` doesn't do, since the system counts it as the process's output.
void segment_by_pwrite(benchmark::State& state) {
  source();
  for (auto _ : state) {
    const base::File file = base::make_memfd("jumper-segment");
    if (::posix_fallocate(file.fd(), 0, kBytes) != 0) std::abort();
    const std::string_view text(reinterpret_cast<const char*>(source().data()), kBytes);
    if (!base::write_at(file.fd(), text, 0)) std::abort();
  }
}
BENCHMARK(segment_by_pwrite)->UseRealTime()->Unit(benchmark::kMillisecond);

// Nor this.
void segment_by_mapping(benchmark::State& state) {
  source();
  for (auto _ : state) {
    const base::File file = base::make_memfd("jumper-segment");
    if (::posix_fallocate(file.fd(), 0, kBytes) != 0) std::abort();
    void* to = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd(), 0);
    if (to == MAP_FAILED) std::abort();
    const transfer::Copy copy{static_cast<std::byte*>(to), source().data(), kBytes};
    transfer::copy_all({&copy, 1}, static_cast<int>(state.range(0)));
    ::munmap(to, kBytes);
  }
}
BENCHMARK(segment_by_mapping)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

void segment_changed(benchmark::State& state, const char* pagemap) {
  const auto mapping = transfer::Mapping::open(filled(2));
  mapping.view(kBytes / 2, 1)[0] = std::byte{2};
  for (auto _ : state) benchmark::DoNotOptimize(mapping.changed(0, kBytes, pagemap));
}
BENCHMARK_CAPTURE(segment_changed, pagemap, "/proc/self/pagemap")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(segment_changed, compared, "")->Unit(benchmark::kMillisecond);

}  // namespace
