#pragma once
// The sources that this build knows.

#include <memory>
#include <vector>

#include "probe/missing.hpp"
#include "probe/sampler.hpp"
#include "probe/source.hpp"

namespace probe {

// Those of the levels that `options` asks for, each made and looked at once. One that can't be
// made for want of memory or threads is left out and said in `missing`.
std::vector<std::unique_ptr<Source>> make_sources(const SamplerOptions& options,
                                                  MissingList& missing);

}  // namespace probe
