#include "store/reduction.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "transfer/copy.hpp"

namespace store {
namespace {

constexpr std::size_t kLanes = 8;  // independent sums, so that no addition waits for the last one
constexpr int kThreads = 2;        // memory doesn't feed many more
constexpr std::int64_t kMostExactNs = std::int64_t{1} << 51;  // that as_double() is asked for
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// As static_cast does for 0 to 2^52, in a way that vectors of every processor can.
double as_double(std::int64_t value) noexcept {
  constexpr std::uint64_t kExponent = 0x4330000000000000U;
  constexpr double kOffset = 4503599627370496.0;  // 2^52
  return std::bit_cast<double>(static_cast<std::uint64_t>(value) | kExponent) - kOffset;
}

// The edge between two of the buckets.
std::int64_t edge_of(std::int64_t begin_ns, std::int64_t end_ns, std::size_t i,
                     std::size_t buckets) noexcept {
  const auto length = static_cast<unsigned __int128>(static_cast<std::uint64_t>(end_ns) -
                                                     static_cast<std::uint64_t>(begin_ns));
  const auto part = static_cast<std::uint64_t>(length * i / buckets);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(begin_ns) + part);
}

}  // namespace

void Reduction::Sum::add(const Sum& other) noexcept {
  min = std::min(min, other.min);
  max = std::max(max, other.max);
  weighted += other.weighted;
  weight_ns += other.weight_ns;
}

Reduction::Reduction(std::span<const std::int64_t> times_ns, std::span<const double> values,
                     std::int64_t longest_ns)
    : times_ns_(times_ns.first(std::min(times_ns.size(), values.size()))),
      values_(values.first(times_ns_.size())),
      longest_ns_(longest_ns) {
  const std::size_t blocks = values_.size() / kBlock;
  levels_.emplace_back(blocks);
  block_begin_ns_.resize(blocks);
  constexpr std::size_t kBlockBytes = kBlock * sizeof(double);
  const std::array sizes_bytes{blocks * kBlockBytes};
  transfer::for_slices(sizes_bytes, kThreads,
                       [this](std::size_t, std::size_t begin_bytes, std::size_t size_bytes) {
                         const std::size_t first = begin_bytes / kBlockBytes;
                         sum_up(first, first + size_bytes / kBlockBytes);
                         return 0;
                       });
  while (levels_.back().size() >= kFactor) {
    const std::vector<Sum>& below = levels_.back();
    std::vector<Sum> level(below.size() / kFactor);
    for (std::size_t i = 0; i < level.size(); ++i) {
      for (std::size_t j = 0; j < kFactor; ++j) level[i].add(below[i * kFactor + j]);
    }
    levels_.push_back(std::move(level));
  }
}

void Reduction::sum_up(std::size_t first_block, std::size_t end_block) noexcept {
  for (std::size_t block = first_block; block < end_block; ++block) {
    block_begin_ns_[block] = times_ns_[block * kBlock];
    const std::size_t begin = block * kBlock;
    // The last value has no next one.
    const bool plain = begin + kBlock < values_.size() &&
                       times_ns_[begin + kBlock] - times_ns_[begin] < kMostExactNs;
    levels_[0][block] = plain ? sum_of_block(begin) : sum_of_values(begin, begin + kBlock);
  }
}

double Reduction::weight_of(std::size_t i) const noexcept {
  if (i + 1 >= times_ns_.size()) return 1;
  const std::int64_t length_ns = times_ns_[i + 1] - times_ns_[i];
  return length_ns > longest_ns_ || length_ns < 1 ? 1 : static_cast<double>(length_ns);
}

Reduction::Sum Reduction::sum_of_values(std::size_t begin, std::size_t end) const noexcept {
  Sum sum;
  for (std::size_t i = begin; i < end; ++i) {
    const double value = values_[i];
    if (std::isnan(value)) continue;
    const double weight = weight_of(i);
    sum.add({value, value, value * weight, weight});
  }
  return sum;
}

Reduction::Sum Reduction::sum_of_block(std::size_t begin) const noexcept {
  std::array<double, kLanes> min;
  std::array<double, kLanes> max;
  std::array<double, kLanes> weighted{};
  std::array<double, kLanes> weights{};
  min.fill(kInfinity);
  max.fill(-kInfinity);
  const double* values = values_.data() + begin;
  const std::int64_t* times = times_ns_.data() + begin;
  const double longest = as_double(std::clamp<std::int64_t>(longest_ns_, 0, kMostExactNs));
  for (std::size_t row = 0; row < kBlock; row += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const std::size_t i = row + lane;
      const double value = values[i];
      const double length = as_double(times[i + 1] - times[i]);
      const double short_one = length > longest ? 1.0 : length;
      const double counted = short_one < 1.0 ? 1.0 : short_one;
      const bool known = value == value;
      const double weight = known ? counted : 0.0;
      // What isn't a number is neither less nor more.
      min[lane] = value < min[lane] ? value : min[lane];
      max[lane] = value > max[lane] ? value : max[lane];
      weighted[lane] += (known ? value : 0.0) * weight;
      weights[lane] += weight;
    }
  }
  for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::size_t lane = 0; lane < half; ++lane) {
      min[lane] = std::min(min[lane], min[lane + half]);
      max[lane] = std::max(max[lane], max[lane + half]);
      weighted[lane] += weighted[lane + half];
      weights[lane] += weights[lane + half];
    }
  }
  return {min[0], max[0], weighted[0], weights[0]};
}

// Up the pyramid as long as whole blocks fit, and down again.
Reduction::Sum Reduction::sum_of(std::size_t begin, std::size_t end) const noexcept {
  Sum sum;
  std::size_t left = (begin + kBlock - 1) / kBlock;
  std::size_t right = std::min(end / kBlock, levels_[0].size());
  if (left >= right) return sum_of_values(begin, end);
  sum.add(sum_of_values(begin, left * kBlock));
  sum.add(sum_of_values(right * kBlock, end));
  for (const std::vector<Sum>& level : levels_) {
    const std::size_t up_left = (left + kFactor - 1) / kFactor;
    const std::size_t up_right = right / kFactor;
    if (up_left >= up_right) {
      for (std::size_t i = left; i < right; ++i) sum.add(level[i]);
      break;
    }
    for (std::size_t i = left; i < up_left * kFactor; ++i) sum.add(level[i]);
    for (std::size_t i = up_right * kFactor; i < right; ++i) sum.add(level[i]);
    left = up_left;
    right = up_right;
  }
  return sum;
}

// Of the first value at that time or later.
std::size_t Reduction::place_of(std::int64_t time_ns) const noexcept {
  // The last block that begins before it; the value is in there, or the first one behind.
  const auto block = std::ranges::lower_bound(block_begin_ns_, time_ns) - block_begin_ns_.begin();
  const std::size_t from = block == 0 ? 0 : static_cast<std::size_t>(block - 1) * kBlock;
  const bool known_end = static_cast<std::size_t>(block) < block_begin_ns_.size();
  const std::size_t to = known_end ? static_cast<std::size_t>(block) * kBlock : times_ns_.size();
  const auto part = times_ns_.subspan(from, to - from);
  return from + static_cast<std::size_t>(std::ranges::lower_bound(part, time_ns) - part.begin());
}

Reduced Reduction::reduced(std::size_t begin, std::size_t end) const noexcept {
  Reduced out;
  const Sum sum = sum_of(begin, end);
  if (!(sum.weight_ns > 0)) return out;
  out.min = sum.min;
  out.max = sum.max;
  out.mean = std::clamp(sum.weighted / sum.weight_ns, sum.min, sum.max);
  while (begin < end && std::isnan(values_[begin])) ++begin;
  while (end > begin && std::isnan(values_[end - 1])) --end;
  if (begin == end) return out;
  out.first = values_[begin];
  out.last = values_[end - 1];
  return out;
}

std::vector<Reduced> Reduction::reduce(std::int64_t begin_ns, std::int64_t end_ns,
                                       std::size_t buckets) const {
  std::vector<Reduced> out(buckets);
  if (begin_ns > end_ns || buckets == 0) return out;
  std::size_t begin = place_of(begin_ns);
  for (std::size_t i = 0; i < buckets; ++i) {
    std::size_t end = place_of(edge_of(begin_ns, end_ns, i + 1, buckets));
    if (i + 1 == buckets) {
      while (end < times_ns_.size() && times_ns_[end] == end_ns) ++end;
    }
    out[i] = reduced(begin, end);
    begin = end;
  }
  return out;
}

}  // namespace store
