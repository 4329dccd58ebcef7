#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "base/error.hpp"
#include "base/file.hpp"
#include "record/codec.hpp"
#include "record/text.hpp"
#include "tools/json_lines.hpp"
#include "tools/verbs.hpp"

namespace tools {
namespace {

struct DumpOptions {
  std::string path;
  bool json = false;
};

bool is_whole(const std::string& bytes) {
  record::LogReader reader(bytes);
  while (reader.next()) {
  }
  return reader.damage_count() == 0;
}

// Rows that are being sealed look damaged until the sampler is done with them.
std::string whole_file(const std::string& path) {
  constexpr timespec kShortly{0, 5'000'000};
  constexpr int kLooks = 40;
  constexpr std::string_view kVerb = "cannot read recording";
  // O_NONBLOCK: a named pipe must not make us wait for its writer.
  const base::File file = base::File::open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, kVerb);
  struct stat status{};
  if (::fstat(file.fd(), &status) != 0) throw base::Error(kVerb, path, errno);
  if (S_ISDIR(status.st_mode)) throw base::Error(kVerb, path, EISDIR);
  if (!S_ISREG(status.st_mode)) throw base::Error(kVerb, path, "it is not a regular file");
  if (status.st_size == 0) throw base::Error(kVerb, path, "it is empty");
  for (int look = 1;; ++look) {
    std::string bytes(base::file_size(file.fd()).value_or(0), '\0');
    const auto count = base::read_at(file.fd(), bytes, 0);
    if (!count) throw base::Error(kVerb, path, errno);
    bytes.resize(*count);
    if (look == kLooks || is_whole(bytes) || !base::written_lately(file.fd())) return bytes;
    ::nanosleep(&kShortly, nullptr);
  }
}

void print(const std::string& line) { fmt::print("{}\n", line); }

void print_rows(const record::Chunk& chunk, const record::Schema& schema, bool json) {
  const bool sealed = chunk.kind == record::ChunkKind::kSealedRows;
  const auto rows =
      sealed ? record::decode_sealed_rows(chunk.payload) : record::decode_plain_row(chunk.payload);
  for (std::size_t row = 0; rows && row < rows->count; ++row) {
    print(json ? row_json(*rows, row, schema) : record::row_line(*rows, row, schema, sealed));
  }
}

int dump(const DumpOptions& options) {
  const std::string bytes = whole_file(options.path);
  if (!bytes.empty() && !record::looks_like_recording(bytes) &&
      bytes.find(record::kMagic) == bytes.npos) {
    throw base::Error("cannot read recording", options.path, "it is not a JUmPER recording",
                      "recordings end in .jumper");
  }
  record::LogReader reader(bytes);
  record::Schema schema;
  while (const auto chunk = reader.next()) {
    if (chunk->kind == record::ChunkKind::kPlainRow ||
        chunk->kind == record::ChunkKind::kSealedRows) {
      print_rows(*chunk, schema, options.json);
      continue;
    }
    const auto record = record::decode(chunk->kind, chunk->payload);
    if (!record) continue;
    if (const auto* found = std::get_if<record::Schema>(&*record)) schema = *found;
    print(options.json ? record_json(*record) : record::to_line(*record));
  }
  for (const record::Damage& damage : reader.damages()) {
    if (options.json) print(damage_json(damage));
    fmt::print(stderr, "jumper: recording '{}': {} bytes from {} can't be read: {}\n", options.path,
               damage.bytes, damage.offset, damage.what);
  }
  if (reader.newer_version()) {
    fmt::print(stderr,
               "jumper: recording '{}': parts of it were written by a newer JUmPER (this one reads "
               "format {}); upgrade jumper-hpc\n",
               options.path, record::kVersion);
  }
  return reader.damage_count() == 0 && !reader.newer_version() ? 0 : 1;
}

}  // namespace

void add_dump(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<DumpOptions>();
  CLI::App* verb =
      program.add_subcommand("dump", "print everything that a recording holds, one line each");
  verb->add_option("FILE", options->path, "a recording (.jumper)")->required();
  verb->add_flag("--json", options->json, "one JSON object a line");
  verb->callback([options, &chosen] { chosen = [options] { return dump(*options); }; });
}

}  // namespace tools
