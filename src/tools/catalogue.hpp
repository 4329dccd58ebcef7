#pragma once
// What this machine's sampler measures: each column with its value now, its source, and what
// reading that costs (`jumper sample --list`, `jumper doctor`).

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "probe/sampler.hpp"
#include "record/records.hpp"

namespace tools {

// CPU time of one read, ns; -1: not measured.
struct Cost {
  std::int64_t part_ns = -1;  // of an ordinary tick
  std::int64_t full_ns = -1;  // when everything is read: at the edges of cells, and once a second
};

struct SourceEntry {
  std::string name;        // "tree", "node", else probe::Source::name()
  std::string origin;      // which files or library
  std::size_t first = 0;   // its columns
  std::size_t number = 0;  // and how many
  Cost cost;
};

struct Catalogue {
  std::vector<record::Column> columns;
  std::vector<record::Value> values;  // of the last tick
  std::vector<SourceEntry> sources;   // in the order of their columns
  std::vector<record::Missing> missing;
  record::Machine machine;
};

// Takes ticks, 100 ms apart: two, more for up to a second while threads still measure, and for up
// to five while a source hasn't said whether there are devices. Throws base::Error when there is no
// process `options.root_pid`.
Catalogue look(const probe::SamplerOptions& options);

// Fills the costs: medians of 20 reads (10 full ones), 20 ms apart, because at 10 Hz the caches
// are cold. Takes 2.5 s. What the tree and the node cost is the difference between samplers with
// one of them and with none.
void measure_costs(const probe::SamplerOptions& options, Catalogue& catalogue);

// By the name's ending: "bytes", "ns", "ops", …; "count" where it says none.
std::string_view unit_of(std::string_view name) noexcept;
// "process" of "process.cpu_time_ns".
std::string_view level_of(std::string_view name) noexcept;

// The record that says why `name` has no value, or may be too small: the newest that is about the
// name itself, its family ("node.io", "node.io_*"), its level, or the same metric of all devices
// ("node.cpu_time_ns" for "node.core3.cpu_time_ns"). nullptr: none, or it was taken back.
const record::Missing* find_reason(std::span<const record::Missing> missing, std::string_view name);
// "measured", "measured, lower bound: …", "not supported: …", "not yet".
std::string state_text(record::Value value, const record::Missing* reason);

// `jumper sample --list`: one line each on stdout. The exit status.
int print_catalogue(const probe::SamplerOptions& options, bool json);

}  // namespace tools
