#include "made_up.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string_view>

#include "record/log.hpp"

namespace bench {
namespace {

constexpr std::int64_t kBeginNs = 1000 * kSecondNs;
constexpr int kRowsOfOneSecond = 10;
constexpr int kRowsOfOneCell = 100;

void die(std::string_view what) {
  fmt::print(stderr, "jumper_bench: {}\n", what);
  std::exit(1);
}

record::CellBegin begin_of(std::int64_t index, const record::Sample& sample) {
  record::CellBegin begin;
  begin.index = begin.execution_count = index;
  begin.time_ns = begin.sample_ns = sample.time_ns;
  begin.counters.cpu_time_ns = begin.counters.io_read_bytes = sample.time_ns / 2;
  begin.source = "for step in range(1000):\n    model.train(step)\n";
  begin.source_bytes = static_cast<std::int64_t>(begin.source.size());
  return begin;
}

record::CellEnd end_of(std::int64_t index, const record::Sample& sample) {
  record::CellEnd end;
  end.index = end.execution_count = index;
  end.time_ns = end.sample_ns = sample.time_ns;
  end.counters.cpu_time_ns = end.counters.io_read_bytes = sample.time_ns / 2;
  return end;
}

}  // namespace

record::Schema made_up_schema(int cores) {
  using record::Kind;
  record::Schema schema;
  for (const std::string_view prefix : {"process.", "process.root_"}) {
    for (const std::string_view name :
         {"cpu_time_ns", "io_read_bytes", "io_write_bytes", "io_read_ops", "io_write_ops",
          "storage_read_bytes", "storage_write_bytes"}) {
      schema.columns.push_back({std::string(prefix).append(name), Kind::kCounter});
    }
  }
  for (const std::string_view name :
       {"memory_bytes", "memory_is_upper_bound", "rss_bytes", "pss_bytes", "pss_time_ns",
        "processes", "threads", "capacity_millicores", "capacity_memory_bytes"}) {
    schema.columns.push_back({fmt::format("process.{}", name), Kind::kGauge});
  }
  schema.columns.push_back({"node.cpu_time_ns", Kind::kCounter});
  for (int core = 0; core < cores; ++core) {
    schema.columns.push_back({fmt::format("node.core{}.cpu_time_ns", core), Kind::kCounter});
  }
  schema.columns.push_back({"node.storage_read_bytes", Kind::kCounter});
  schema.columns.push_back({"node.storage_write_bytes", Kind::kCounter});
  for (const std::string_view name :
       {"memory_bytes", "threads", "processes", "capacity_millicores", "capacity_memory_bytes"}) {
    schema.columns.push_back({fmt::format("node.{}", name), Kind::kGauge});
  }
  return schema;
}

MadeUpSamples::MadeUpSamples(const record::Schema& schema) : schema_(schema) {
  sample_.time_ns = kBeginNs;
  sample_.values.assign(schema.columns.size(), 1);
  for (std::size_t i = 0; i < schema.columns.size(); ++i) {
    const std::string_view name = schema.columns[i].name;
    if (name.ends_with("_bytes")) sample_.values[i] = std::int64_t{8} << 30;
    if (name.ends_with("millicores")) sample_.values[i] = 2000;
  }
}

const record::Sample& MadeUpSamples::next() {
  const auto up_to = [this](std::int64_t most) {
    return static_cast<std::int64_t>(chance_() % static_cast<std::uint64_t>(most + 1));
  };
  sample_.time_ns += kPeriodNs + up_to(100'000) - 50'000;
  sample_.duration_ns = 60'000 + up_to(20'000);
  sample_.cpu_ns += 140'000 + up_to(40'000);
  for (std::size_t i = 0; i < schema_.columns.size(); ++i) {
    const std::string_view name = schema_.columns[i].name;
    record::Value& value = sample_.values[i];
    if (name.starts_with("node.") && name.ends_with("cpu_time_ns")) {
      value += 10'000'000 * up_to(10);
    } else if (name.ends_with("cpu_time_ns")) {
      value += up_to(kPeriodNs);
    } else if (name.ends_with("ops")) {
      value += up_to(200);
    } else if (schema_.columns[i].kind == record::Kind::kCounter) {
      value += up_to(1 << 20);
    } else if (name.ends_with("memory_bytes") || name.ends_with("ss_bytes")) {
      if (name.find("capacity") == name.npos) value += 4096 * (up_to(2000) - 1000);
    } else if (name.ends_with("time_ns")) {
      if (up_to(9) == 0) value = sample_.time_ns;
    }
  }
  return sample_;
}

base::File unnamed_file() {
  const auto folder = std::filesystem::temp_directory_path();
  std::string path = (folder / "jumper_bench.XXXXXX").string();
  base::File file(::mkstemp(path.data()));
  if (!file.valid()) die(fmt::format("no file can be made in {}", folder.string()));
  ::unlink(path.c_str());
  return file;
}

namespace {

// Until there are so many rows, or so many bytes.
std::size_t write_recording(int fd, int cores, int most_rows, std::size_t most_bytes) {
  const record::Schema schema = made_up_schema(cores);
  MadeUpSamples samples(schema);
  record::LogWriter writer(fd, 0, 0);
  record::Machine machine;
  machine.host = "made-up";
  machine.cores_online = cores;
  machine.memory_bytes = std::int64_t{64} << 30;
  machine.process_source = machine.node_source = "made up";
  bool good = writer.append(machine) && writer.append(schema) && writer.append(record::Settings{});
  std::int64_t cell = 0;
  for (int row = 0; row < most_rows && writer.offset() < most_bytes && good; ++row) {
    const record::Sample& sample = samples.next();
    if (row % kRowsOfOneSecond == 0) good = writer.seal();
    good = good && writer.append_row(sample);
    if (row % kRowsOfOneCell == kRowsOfOneCell / 2) {
      good = good && writer.append(begin_of(++cell, sample));
    } else if (cell > 0 && row % kRowsOfOneCell == 0) {
      good = good && writer.append(end_of(cell, sample));
    }
  }
  record::End end;
  end.time_ns = samples.now().time_ns;
  if (!good || !writer.append(end)) die("the made-up recording can't be written");
  return writer.offset();
}

MadeUp made_up_recording(int cores, int most_rows, std::size_t most_bytes) {
  MadeUp made;
  made.file = unnamed_file();
  made.path = fmt::format("/proc/self/fd/{}", made.file.fd());
  made.bytes = write_recording(made.file.fd(), cores, most_rows, most_bytes);
  return made;
}

}  // namespace

std::size_t write_hour(int fd, int cores) {
  return write_recording(fd, cores, kRowsOfOneHour, std::size_t{1} << 40);
}

const MadeUp& hour_of(int cores) {
  static std::map<int, MadeUp> hours;
  const auto [place, is_new] = hours.try_emplace(cores);
  if (is_new) place->second = made_up_recording(cores, kRowsOfOneHour, std::size_t{1} << 40);
  return place->second;
}

const MadeUp& largest_recording() {
  constexpr int kCores = 469;  // 500 columns
  constexpr std::size_t kBytes = std::size_t{256} << 20;
  static const MadeUp kLargest = made_up_recording(kCores, 1 << 30, kBytes);
  return kLargest;
}

}  // namespace bench
