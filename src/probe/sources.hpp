#pragma once
// The sources that this build knows.

#include <memory>
#include <vector>

#include "probe/capacity.hpp"
#include "probe/listing.hpp"
#include "probe/missing.hpp"
#include "probe/sampler.hpp"
#include "probe/source.hpp"

namespace probe {

// Those of the levels that `options` asks for, each made and looked at once. One that can't be
// made for want of memory or threads is left out and said in `missing`. `capacity`: of the root
// process, `listing`: of the node; they outlive the sources and are looked at before they are read.
std::vector<std::unique_ptr<Source>> make_sources(const SamplerOptions& options,
                                                  const Capacity& capacity, const Listing& listing,
                                                  MissingList& missing);

}  // namespace probe
