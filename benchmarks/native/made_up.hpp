#pragma once
// A made-up machine, the same at every run: its columns, its samples, and an hour of them as a
// recording. Counters grow as on a busy host, so deltas take as many bytes as real ones do.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "record/records.hpp"

namespace bench {

inline constexpr std::int64_t kSecondNs = 1'000'000'000;
inline constexpr std::int64_t kPeriodNs = kSecondNs / 10;
inline constexpr int kRowsOfOneHour = 36'000;

// The columns of both levels, as the sampler writes them, for a node of so many cores.
record::Schema made_up_schema(int cores);

// One sample after the other, kPeriodNs apart. CPU clocks of processes count nanoseconds, those of
// cores 10 ms steps; gauges move now and then.
class MadeUpSamples {
 public:
  explicit MadeUpSamples(const record::Schema& schema);
  [[nodiscard]] const record::Sample& now() const noexcept { return sample_; }
  const record::Sample& next();

 private:
  const record::Schema& schema_;
  record::Sample sample_;
  std::mt19937_64 chance_{2026};  // NOLINT(cert-msc51-cpp): the same at every run
};

// A file without a name in the temporary directory.
base::File unnamed_file();

// An hour at 10 Hz with a cell every 10 s (360 of them), sealed each second like the sampler's
// own. Returns its size in bytes.
std::size_t write_hour(int fd, int cores);

// The same, made once for each number of cores, with the path under which it can be opened.
struct MadeUp {
  base::File file;
  std::string path;
  std::size_t bytes = 0;
};
const MadeUp& hour_of(int cores);

// As long as a recording gets before it is thinned, 256 MiB, with 500 columns.
const MadeUp& largest_recording();

}  // namespace bench
