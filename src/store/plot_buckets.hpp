#pragma once
// One curve while it is made: what lay in each bucket of the time.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "store/plot_data.hpp"

namespace store {

class PlotBuckets {
 public:
  explicit PlotBuckets(std::size_t buckets)
      : min_(buckets, kNotKnown),
        max_(buckets, kNotKnown),
        weighted_(buckets),
        known_ns_(buckets) {}

  // From here on only these buckets. `edges` are of all, and outlive the call of add().
  void begin(std::size_t first, std::size_t count) noexcept {
    at_ = first;
    end_ = first + count;
  }

  // A value over some time, in order of time; what lies outside of the buckets is left out. A time
  // of no length counts as an instant, in the bucket that begins with it.
  void add(const std::vector<std::int64_t>& edges, std::int64_t begin_ns, std::int64_t end_ns,
           double value) noexcept {
    while (at_ < end_ && edges[at_ + 1] <= begin_ns && (begin_ns < end_ns || at_ + 1 < end_)) ++at_;
    for (std::size_t i = at_; i < end_ && (edges[i] < end_ns || i == at_); ++i) {
      const std::int64_t part_ns = std::min(end_ns, edges[i + 1]) - std::max(begin_ns, edges[i]);
      if (part_ns < 0 && begin_ns < end_ns) break;
      const double weight = static_cast<double>(std::max<std::int64_t>(part_ns, 0)) + kInstantNs;
      max_[i] = std::fmax(max_[i], value);
      min_[i] = std::fmin(min_[i], value);
      weighted_[i] += value * weight;
      known_ns_[i] += weight;
    }
  }

  // Takes over what another one has in these buckets.
  void take(const PlotBuckets& other, std::size_t first, std::size_t count) noexcept {
    for (std::size_t i = first; i < first + count; ++i) {
      min_[i] = other.min_[i];
      max_[i] = other.max_[i];
      weighted_[i] = other.weighted_[i];
      known_ns_[i] = other.known_ns_[i];
    }
  }

  [[nodiscard]] bool any_known() const noexcept {
    return std::ranges::any_of(known_ns_, [](double ns) { return ns > 0; });
  }

  void put_into(PlotTrack& track) && {
    track.mean.assign(min_.size(), kNotKnown);
    bool alike = true;
    for (std::size_t i = 0; i < min_.size(); ++i) {
      if (!(known_ns_[i] > 0)) continue;
      const bool one = min_[i] == max_[i];
      track.mean[i] = one ? max_[i] : std::clamp(weighted_[i] / known_ns_[i], min_[i], max_[i]);
      alike = alike && one;
    }
    if (alike) return;
    track.min = std::move(min_);
    track.max = std::move(max_);
  }

 private:
  static constexpr double kInstantNs = 1e-3;  // that an instant counts in a mean
  std::vector<double> min_, max_, weighted_, known_ns_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
};

}  // namespace store
