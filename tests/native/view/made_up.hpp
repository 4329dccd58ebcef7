#pragma once
// A summary with realistic numbers: what the views are tried on.

#include "store/summary.hpp"

namespace made_up {

inline store::LevelSummary level(const std::string& name) {
  store::LevelSummary level;
  level.name = name;
  level.capacity_cores = name == "process" ? 2 : 64;
  level.capacity_memory_bytes = 8'321'499'136;
  level.capacity_source = name == "process" ? "affinity of the kernel; memory of the node"
                                            : "online cores and memory of the node";
  level.cpu_percent.mean = 98.7142857;
  level.cpu_percent.max = 100;
  level.cpu_percent.min = 90.9876543;
  level.cpu_time_s = 11.883412345;
  level.memory_bytes.mean = 1'342'177'280.25;
  level.memory_bytes.max = 1'503'238'553;
  level.memory_bytes.min = 104'857'600;
  level.memory_bytes.begin = 104'857'600;
  level.memory_bytes.end = 1'493'238'553;
  level.memory_bytes.peak = 1'632'087'572;
  if (name == "process") {
    level.io_read_bytes = 12'582'912;
    level.io_write_bytes = 3'328'599'654;
    level.io_read_ops = 4312;
    level.io_write_ops = 51'987;
  }
  level.storage_read_bytes = 0;
  level.storage_write_bytes = 3'113'851'289;
  level.processes_max = name == "process" ? 5 : 312;
  level.threads_max = name == "process" ? 12 : 1822;
  return level;
}

inline store::CellSummary summary() {
  store::CellSummary summary;
  summary.index = 4;
  summary.execution_count = 3;
  summary.begin = "2026-11-29T14:54:20.123456Z";
  summary.begin_wall_ns = 1'795'964'060'123'456'000;
  summary.duration_s = 6.019234567;
  summary.ticks = 60;
  summary.levels = {level("process"), level("node")};
  for (const char* metric : {"io_read_bytes", "io_write_bytes", "io_read_ops", "io_write_ops"}) {
    summary.unknown[std::string("node.") + metric] =
        "not supported: the system counts all I/O by process only";
  }
  return summary;
}

}  // namespace made_up
