#include "store/table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.hpp"
#include "store/synthetic.hpp"
#include "store/table_columns.hpp"

namespace store {
namespace {

using namespace synthetic;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const TableColumn& column_of(const Table& table, std::string_view name) {
  const auto found = std::ranges::find(table.columns, name, &TableColumn::name);
  if (found != table.columns.end()) return *found;
  ADD_FAILURE() << "there is no column " << name;
  static const TableColumn kNone;
  return kNone;
}

bool has(const Table& table, std::string_view name) {
  return std::ranges::find(table.columns, name, &TableColumn::name) != table.columns.end();
}

std::string reason_of(const Table& table, std::string_view column) {
  const auto found = std::ranges::find(table.missing, column, &TableMissing::column);
  return found == table.missing.end() ? "" : found->reason;
}

// One cell of 400 ms: an edge, three ticks, an edge; half of two cores, then all.
void record_cell(Recorder& recorder, std::int64_t index = 1, std::int64_t begin_ns = kStart) {
  recorder.edge(begin_ns, {{"process.cpu_time_ns", 0}, {"process.root_cpu_time_ns", 0}});
  recorder.add(cell_begin(begin_ns, begin_ns, marks(0), index));
  recorder.row(begin_ns + 100 * kMs,
               {{"process.cpu_time_ns", 100 * kMs}, {"process.io_read_bytes", 1000}});
  recorder.row(begin_ns + 200 * kMs,
               {{"process.cpu_time_ns", 300 * kMs}, {"process.memory_bytes", 300 * kMiB}});
  recorder.row(begin_ns + 300 * kMs,
               {{"process.cpu_time_ns", 350 * kMs}, {"process.memory_bytes", 200 * kMiB}});
  recorder.edge(begin_ns + 400 * kMs, {{"process.cpu_time_ns", 400 * kMs}});
  recorder.add(cell_end(begin_ns + 400 * kMs, begin_ns + 400 * kMs, marks(0), index));
}

TEST(Table, HasARowForEachSampleOfTheCell) {
  Recorder recorder;
  recorder.row(kStart - kSecond);
  record_cell(recorder);
  recorder.row(kStart + kSecond);
  const Recording recording = recorder.open();
  const Table table = table_of(recording, recording.cells(), "process");
  ASSERT_EQ(table.rows, 5U);
  EXPECT_THAT(column_of(table, "cell_index").numbers, ElementsAre(1, 1, 1, 1, 1));
  EXPECT_THAT(column_of(table, "execution_count").numbers, ElementsAre(11, 11, 11, 11, 11));
  EXPECT_EQ(column_of(table, "time_unix_ns").numbers[1], kWall + kStart + 100 * kMs);
  EXPECT_THAT(column_of(table, "since_cell_begin_ns").numbers,
              ElementsAre(0, 100 * kMs, 200 * kMs, 300 * kMs, 400 * kMs));
  EXPECT_EQ(column_of(table, "memory_bytes").numbers[2], 300 * kMiB);
  EXPECT_EQ(column_of(table, "memory_bytes").unit, "B");
  EXPECT_FALSE(has(table, "node.memory_bytes"));
}

TEST(Table, RatesStandBehindTheirCountersAndHoldUpToTheirRow) {
  Recorder recorder;
  record_cell(recorder);
  const Recording recording = recorder.open();
  const Table table = table_of(recording, recording.cells(), "process");
  const TableColumn& cpu = column_of(table, "cpu_percent");
  ASSERT_EQ(cpu.rates.size(), 5U);
  EXPECT_TRUE(std::isnan(cpu.rates[0]));
  EXPECT_EQ(cpu.rates[1], 50);
  EXPECT_EQ(cpu.rates[2], 100);
  EXPECT_EQ(cpu.rates[3], 25);
  EXPECT_EQ(cpu.rates[4], 25);
  EXPECT_EQ(cpu.unit, "%");
  EXPECT_EQ(column_of(table, "io_read_bytes_per_s").rates[1], 10'000);
  EXPECT_EQ(column_of(table, "io_read_bytes_per_s").rates[2], 0);
  EXPECT_EQ(column_of(table, "io_read_bytes_per_s").unit, "B/s");
  EXPECT_FALSE(has(table, "root_cpu_percent"));
}

TEST(Table, ItsHighestRateIsTheSummarys) {
  Recorder recorder;
  record_cell(recorder);
  const Recording recording = recorder.open();
  const CellSummary summary = summary_of(recording);
  const Table table = table_of(recording, recording.cells(), "all");
  double most = 0;
  for (const double rate : column_of(table, "process.cpu_percent").rates) {
    most = std::fmax(most, rate);
  }
  EXPECT_EQ(most, level_of(summary, "process").cpu_percent.max);
  EXPECT_TRUE(has(table, "node.memory_bytes"));
}

TEST(Table, WhatIsUnknownHasAReasonAndIsNeverZero) {
  Recorder recorder({"process.cpu_time_ns", "process.io_read_bytes"});
  recorder.add(record::Missing{1, "process.io_read_bytes", record::State::kNotPermitted, "closed"});
  recorder.add(record::Missing{1, "process.net_receive_bytes", record::State::kNotSupported, "no"});
  recorder.set({{"process.io_read_bytes", record::unknown(record::State::kNotPermitted)}});
  record_cell(recorder);
  const Recording recording = recorder.open();
  const Table table = table_of(recording, recording.cells(), "process");
  const TableColumn& read = column_of(table, "io_read_bytes");
  EXPECT_TRUE(read.any_unknown);
  EXPECT_EQ(read.numbers[0], kNoNumber);
  EXPECT_EQ(reason_of(table, "io_read_bytes"), "not permitted: closed");
  EXPECT_EQ(reason_of(table, "net_receive_bytes"), "not supported: no");
  EXPECT_FALSE(column_of(table, "cpu_time_ns").any_unknown);
}

TEST(Table, ACellOfOneSampleHasNoRate) {
  Recorder recorder;
  recorder.edge(kStart);
  recorder.add(cell_begin(kStart, kStart));
  recorder.add(cell_end(kStart + kMs, kStart));
  const Recording recording = recorder.open();
  const Table table = table_of(recording, recording.cells(), "process");
  ASSERT_EQ(table.rows, 1U);
  EXPECT_THAT(reason_of(table, "cpu_percent"), StartsWith("not yet: no two samples"));
}

TEST(Table, GapsAreListedAndNothingSpansThem) {
  Recorder recorder;
  recorder.edge(kStart, {{"process.cpu_time_ns", 0}});
  recorder.add(cell_begin(kStart, kStart));
  recorder.row(kStart + 100 * kMs, {{"process.cpu_time_ns", 100 * kMs}});
  recorder.add(gap(kStart + 100 * kMs, kStart + 900 * kMs));
  recorder.row(kStart + 900 * kMs, {{"process.cpu_time_ns", 900 * kMs}});
  recorder.edge(kStart + kSecond, {{"process.cpu_time_ns", 1100 * kMs}});
  recorder.add(cell_end(kStart + kSecond, kStart + kSecond));
  const Recording recording = recorder.open();
  const Table table = table_of(recording, recording.cells(), "process");
  ASSERT_EQ(table.gaps.size(), 1U);
  EXPECT_EQ(table.gaps[0].cell_index, 1);
  EXPECT_EQ(table.gaps[0].begin_unix_ns, kWall + kStart + 100 * kMs);
  EXPECT_EQ(table.gaps[0].end_unix_ns, kWall + kStart + 900 * kMs);
  EXPECT_THAT(table.gaps[0].reason, HasSubstr("stopped"));
  const auto& rates = column_of(table, "cpu_percent").rates;
  EXPECT_EQ(rates[1], 50);
  EXPECT_TRUE(std::isnan(rates[2]));
  EXPECT_EQ(rates[3], 100);
}

TEST(Table, CellsStandInTheOrderAskedForAndARowMayBeOfTwo) {
  Recorder recorder;
  record_cell(recorder, 1, kStart);
  record_cell(recorder, 2, kStart + 10 * kSecond);
  const Recording recording = recorder.open();
  const Cell inner = recording.cells()[1];
  const Table table = table_of(recording, {inner, recording.cells()[0], inner}, "process");
  EXPECT_EQ(table.rows, 15U);
  EXPECT_EQ(column_of(table, "cell_index").numbers[0], 2);
  EXPECT_EQ(column_of(table, "cell_index").numbers[5], 1);
  EXPECT_TRUE(std::isnan(column_of(table, "cpu_percent").rates[5]));
  EXPECT_EQ(column_of(table, "cpu_percent").rates[11], 50);
}

TEST(Table, AColumnThatComesLaterIsUnknownBefore) {
  Recorder recorder({"process.cpu_time_ns"});
  record_cell(recorder, 1, kStart);
  recorder.schema({"process.swap_bytes", "process.cpu_time_ns"});
  recorder.set({{"process.swap_bytes", 5}});
  record_cell(recorder, 2, kStart + 10 * kSecond);
  recorder.schema({"process.cpu_time_ns"});
  record_cell(recorder, 3, kStart + 20 * kSecond);
  const Recording recording = recorder.open();
  const Table table = table_of(recording, recording.cells(), "process");
  const auto& swap = column_of(table, "swap_bytes");
  ASSERT_EQ(swap.numbers.size(), 15U);
  EXPECT_EQ(swap.numbers[0], kNoNumber);
  EXPECT_EQ(swap.numbers[5], 5);
  EXPECT_EQ(swap.numbers[10], kNoNumber);
  EXPECT_EQ(column_of(table, "cpu_percent").rates[6], 50);
}

TEST(Table, OfNoCellsIsEmpty) {
  Recorder recorder;
  const Recording recording = recorder.open();
  const Table table = table_of(recording, {}, "all");
  EXPECT_EQ(table.rows, 0U);
  EXPECT_EQ(table.columns.size(), 4U);
}

TEST(Table, AHostileSchemaMakesNoDoubleColumns) {
  Recorder recorder({"process.x", "process.x", "process.cpu_time_ns", "process.cpu_percent", ".y",
                     "node", "elsewhere.z", "process.cell_index"});
  record_cell(recorder);
  const Recording recording = recorder.open();
  const Table table = table_of(recording, recording.cells(), "process");
  std::set<std::string> names;
  for (const TableColumn& column : table.columns) {
    EXPECT_TRUE(names.insert(column.name).second) << column.name;
    EXPECT_EQ(column.kind == TableColumn::Kind::kRate ? column.rates.size() : column.numbers.size(),
              table.rows);
  }
  EXPECT_FALSE(names.contains("z"));
}

TEST(Table, ColumnsSayTheirUnits) {
  EXPECT_EQ(rate_of("core3.cpu_time_ns").name, "core3.cpu_percent");
  EXPECT_EQ(rate_of("pressure_io_some_ns").name, "pressure_io_some_percent");
  EXPECT_EQ(rate_of("io_read_ops").unit, "1/s");
  EXPECT_EQ(rate_of("gpu0.energy_millijoules").unit, "mJ/s");
  EXPECT_EQ(rate_of("root_io_read_bytes").form, DerivedRate::Form::kNone);
  EXPECT_EQ(unit_of("gpu0.power_milliwatts"), "mW");
  EXPECT_EQ(unit_of("threads"), "");
}

}  // namespace
}  // namespace store
