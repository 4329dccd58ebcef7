#pragma once
// Pressure (PSI): how long work had to wait for cores, memory or storage.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "probe/kernel_file.hpp"
#include "probe/missing.hpp"
#include "probe/source.hpp"
#include "record/value.hpp"

namespace probe {

// Counters; unknown(kNotSupported) where the text has no such line.
struct PressureTotals {
  // At least one thread had to wait.
  record::Value some_ns = record::unknown(record::State::kNotSupported);
  // All threads that had something to do had to wait: nothing went on.
  record::Value full_ns = record::unknown(record::State::kNotSupported);
};

// Parses /proc/pressure/{cpu,memory,io} and the same files of a cgroup (cpu.pressure, …), as in
// Documentation/accounting/psi.rst; "total" is in microseconds. Kernels before 5.13 have no line
// "full" for cpu, later ones have zeros in that of the node.
//
//   some avg10=0.18 avg60=0.03 avg300=0.06 total=352408439
//   full avg10=0.18 avg60=0.03 avg300=0.04 total=43658874
PressureTotals parse_pressure(std::string_view text) noexcept;

// What to say of a pressure file that can't be opened or read, by errno: built without, switched
// off, not allowed.
struct PressureRefusal {
  record::State state = record::State::kNotSupported;
  std::string_view reason;
};
PressureRefusal pressure_refusal(int error) noexcept;

// node.pressure_{cpu_some,memory_some,memory_full,io_some,io_full}_ns. (All of a node's threads
// can't wait for its cores.) A tick costs 12 us of CPU for the three files on two cores; the kernel
// adds up all cores at each read.
class Pressure final : public Source {
 public:
  Pressure(const std::string& root, MissingList& missing);

  [[nodiscard]] std::string_view name() const noexcept override { return "pressure"; }
  [[nodiscard]] std::string_view origin() const noexcept override { return "/proc/pressure"; }
  [[nodiscard]] const std::vector<record::Column>& columns() const noexcept override {
    return columns_;
  }
  [[nodiscard]] bool seldom() const noexcept override { return true; }
  void read(std::span<record::Value> values, const Turn& turn) noexcept override;

 private:
  struct Resource {
    KernelFile file;
    record::State state = record::State::kNotSupported;  // of its values when it can't be read
    bool has_full = true;
    PressureTotals before;
  };
  std::array<Resource, 3> resources_;  // cpu, memory, io
  std::vector<record::Column> columns_;
};

}  // namespace probe
