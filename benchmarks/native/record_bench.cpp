// Rows on their way to the disk and back: encoding, checksum, appending, and how large an hour is.

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "made_up.hpp"
#include "record/crc32c.hpp"
#include "record/log.hpp"
#include "record/marks.hpp"
#include "record/rows.hpp"

namespace {

constexpr std::size_t kRowsOfOneSecond = 10;

std::vector<record::Sample> one_second(const record::Schema& schema) {
  bench::MadeUpSamples samples(schema);
  std::vector<record::Sample> rows;
  while (rows.size() < kRowsOfOneSecond) rows.push_back(samples.next());
  return rows;
}

void encode_plain_row(benchmark::State& state) {
  const auto schema = bench::made_up_schema(static_cast<int>(state.range(0)));
  bench::MadeUpSamples samples(schema);
  const record::Sample sample = samples.next();
  std::string bytes;
  for (auto _ : state) {
    bytes.clear();
    record::encode_plain_row(sample, bytes);
    benchmark::DoNotOptimize(bytes.data());
  }
  state.counters["bytes"] = static_cast<double>(bytes.size());
}
BENCHMARK(encode_plain_row)->Arg(2)->Arg(128);

void encode_sealed_second(benchmark::State& state) {
  const auto schema = bench::made_up_schema(static_cast<int>(state.range(0)));
  const auto rows = one_second(schema);
  std::string bytes;
  for (auto _ : state) {
    bytes.clear();
    record::encode_sealed_rows(rows, rows.size(), bytes);
    benchmark::DoNotOptimize(bytes.data());
  }
  state.counters["bytes"] = static_cast<double>(bytes.size());
}
BENCHMARK(encode_sealed_second)->Arg(2)->Arg(128);

void decode_plain_row(benchmark::State& state) {
  const auto schema = bench::made_up_schema(static_cast<int>(state.range(0)));
  bench::MadeUpSamples samples(schema);
  std::string bytes;
  record::encode_plain_row(samples.next(), bytes);
  for (auto _ : state) benchmark::DoNotOptimize(record::decode_plain_row(bytes));
}
BENCHMARK(decode_plain_row)->Arg(2)->Arg(128);

void decode_sealed_second(benchmark::State& state) {
  const auto schema = bench::made_up_schema(static_cast<int>(state.range(0)));
  const auto rows = one_second(schema);
  std::string bytes;
  record::encode_sealed_rows(rows, rows.size(), bytes);
  for (auto _ : state) benchmark::DoNotOptimize(record::decode_sealed_rows(bytes));
}
BENCHMARK(decode_sealed_second)->Arg(2)->Arg(128);

void checksum(benchmark::State& state) {
  const std::string bytes(static_cast<std::size_t>(state.range(0)), 'x');
  for (auto _ : state) benchmark::DoNotOptimize(record::crc32c(0, bytes));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(checksum)->Arg(300)->Arg(64 << 10);

// One tick's row to a file on the disk (the page cache takes it), the seal of each second included.
void append_row_to_file(benchmark::State& state) {
  const auto schema = bench::made_up_schema(static_cast<int>(state.range(0)));
  const auto rows = one_second(schema);
  const base::File file = bench::unnamed_file();
  record::LogWriter writer(file.fd(), 0, 0);
  std::size_t row = 0;
  for (auto _ : state) {
    if (!writer.append_row(rows[row])) state.SkipWithError("the disk refused");
    row = (row + 1) % rows.size();
    if (row == 0 && !writer.seal()) state.SkipWithError("the disk refused");
    if (writer.offset() > (64U << 20)) {
      state.PauseTiming();
      if (::ftruncate(file.fd(), 0) != 0) state.SkipWithError("the disk refused");
      writer = record::LogWriter(file.fd(), 0, 0);
      state.ResumeTiming();
    }
  }
}
BENCHMARK(append_row_to_file)->Arg(2)->Arg(128);

void write_one_hour(benchmark::State& state) {
  std::size_t bytes = 0;
  for (auto _ : state) {
    const base::File file = bench::unnamed_file();
    bytes = bench::write_hour(file.fd(), static_cast<int>(state.range(0)));
  }
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(write_one_hour)->Arg(2)->Arg(128)->Iterations(1)->Unit(benchmark::kMillisecond);

// What the kernel does for a mark besides reading its counters.
void encode_mark(benchmark::State& state) {
  record::CellBegin begin;
  begin.index = 1;
  begin.source = std::string(1000, 'x');
  const record::Message message = begin;
  std::string bytes;
  for (auto _ : state) {
    bytes.clear();
    record::encode_message(message, bytes);
    benchmark::DoNotOptimize(bytes.data());
  }
}
BENCHMARK(encode_mark);

}  // namespace
