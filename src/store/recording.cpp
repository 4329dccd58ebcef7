#include "store/recording.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>
#include <variant>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "record/codec.hpp"
#include "store/chunk_walk.hpp"
#include "store/liveness.hpp"
#include "store/recording_state.hpp"

namespace store {
namespace {

constexpr std::string_view kCannotRead = "cannot read recording";
constexpr std::size_t kMostBytes = std::size_t{4} << 30;
constexpr std::size_t kHeadBytes = 256U << 10;  // a recording whose first chunk is damaged has
                                                // another one in here

base::Error foreign(const std::string& path) {
  return {kCannotRead, path, "it is not a JUmPER recording"};
}

base::File open_file(const std::string& path) {
  constexpr std::string_view kCannotOpen = "cannot open recording";
  // O_NONBLOCK: a named pipe must not make us wait for its writer.
  base::File file = base::File::open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, kCannotOpen);
  struct stat status{};
  if (::fstat(file.fd(), &status) != 0) throw base::Error(kCannotOpen, path, errno);
  if (S_ISDIR(status.st_mode)) throw base::Error(kCannotOpen, path, EISDIR);
  if (!S_ISREG(status.st_mode)) throw base::Error(kCannotOpen, path, "it is not a regular file");
  if (status.st_size == 0) throw base::Error(kCannotRead, path, "it is empty");
  return file;
}

// Says no early: a large foreign file isn't searched to its end.
bool may_be_recording(const LogBytes& bytes, const std::string& path) {
  std::string head(kHeadBytes, '\0');
  const auto got = bytes.read(0, head);
  if (!got) throw base::Error(kCannotRead, path, errno);
  head.resize(*got);
  return record::kMagic.starts_with(head.substr(0, record::kMagic.size())) ||
         head.find(record::kMagic) != head.npos;
}

bool begins_with_magic(const LogBytes& bytes) {
  char head[record::kMagic.size()];
  const auto got = bytes.read(0, head);
  return got && record::kMagic.starts_with(std::string_view(head, *got));
}

}  // namespace

std::int64_t Cell::execution_count() const noexcept {
  if (end && end->execution_count >= 0) return end->execution_count;
  return begin.execution_count;
}

Recording::Recording(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Recording::Recording(Recording&&) noexcept = default;
Recording& Recording::operator=(Recording&&) noexcept = default;
Recording::~Recording() = default;

Recording Recording::open(const std::string& path) {
  auto state = std::make_unique<State>();
  state->own = open_file(path);
  state->bytes = LogBytes(state->own.fd());
  state->opened = true;
  state->path = path;
  if (!may_be_recording(state->bytes, path)) throw foreign(path);
  if (!state->refresh()) throw base::Error(kCannotRead, path, errno);
  if (!state->index.has_chunks()) {
    if (state->newer_version != 0) {
      throw base::Error(kCannotRead, path,
                        fmt::format("it was written by a newer JUmPER (format {}; this one reads "
                                    "up to {})",
                                    state->newer_version, record::kVersion),
                        "upgrade jumper-hpc");
    }
    if (!begins_with_magic(state->bytes)) throw foreign(path);
  }
  return Recording(std::move(state));
}

Recording Recording::follow(int fd) {
  auto state = std::make_unique<State>();
  state->bytes = LogBytes(fd);
  return Recording(std::move(state));
}

void Recording::set_spill(int memfd, std::size_t offset) noexcept {
  state_->bytes.set_spill(memfd, offset);
}

void Recording::pause(bool paused) noexcept { state_->bytes.pause(paused); }

bool Recording::refresh() {
  state_->reopen_if_replaced();
  return state_->refresh();
}

// A foreign file in its place is no successor: the old one is read on.
void Recording::State::reopen_if_replaced() {
  struct stat now{};
  if (!opened || ::stat(path.c_str(), &now) != 0 ||
      base::FileIdentity{now.st_dev, now.st_ino} == base::identity_of(own.fd())) {
    return;
  }
  base::File other = base::File::try_open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY);
  const LogBytes other_bytes(other.fd());
  if (!S_ISREG(now.st_mode) || !other.valid() || !begins_with_magic(other_bytes)) return;
  own = std::move(other);
  bytes = other_bytes;
  index = {};
  size = 0;
}

bool Recording::State::refresh() {
  const auto now = bytes.size();
  if (!now) return false;
  // A file that became shorter than what is final was tampered with: what is known stays.
  if (*now < index.final_end()) return true;
  if (*now == size && !index.has_provisional()) return true;
  const std::size_t size_before = size;
  const std::size_t final_before = index.final_end();
  ChunkIndex::Tail known = index.roll_back();
  // Rows that are being sealed look damaged for some microseconds, on a busy machine for longer.
  // Who follows looks again anyway, who opens waits.
  constexpr int kLooks = 3;
  constexpr int kPatientLooks = 40;
  constexpr timespec kShortly{0, 5'000'000};
  for (int look = 0; look == 0 || index.tail_is_damaged(); ++look) {
    if (look >= kLooks) {
      const bool may_be_under_way = opened && !index.end && base::written_lately(own.fd()) &&
                                    index.machine &&
                                    may_still_run(*index.machine, index.last_sample_ns);
      if (!may_be_under_way || look == kPatientLooks) break;
      ::nanosleep(&kShortly, nullptr);
    }
    index.roll_back();
    if (look_once()) continue;
    size = size_before;
    if (index.final_end() == final_before) index.put_back(std::move(known));
    index.settle(false);
    return false;
  }
  // Still in the middle of it: the rows that were known are right, the next look tells the rest.
  if (!known.row_chunks.empty() && index.tail_is_damaged() && index.final_end() == final_before &&
      index.last_sample_ns <= known.last_sample_ns) {
    index.put_back(std::move(known));
  }
  index.settle(opened);
  return true;
}

bool Recording::State::look_once() {
  const auto now = bytes.size();
  if (!now) return false;
  size = std::min(*now, kMostBytes);
  if (!read_from_final_end()) return false;
  if (*now > kMostBytes) {
    index.add_damage({size, *now - size, "the file is longer than any recording"}, std::nullopt);
  }
  return true;
}

bool Recording::State::read_from_final_end() {
  std::size_t tried_twice_from = static_cast<std::size_t>(-1);
  ChunkWalk walk(bytes, index.final_end(), size);
  for (;;) {
    ChunkWalk::Step step = walk.next();
    switch (step.what) {
      case ChunkWalk::Step::What::kEnd:
        return true;
      case ChunkWalk::Step::What::kFailed:
        return false;
      case ChunkWalk::Step::What::kDamage:
        if (step.newer_version != 0) newer_version = step.newer_version;
        index.add_damage(std::move(step.damage), step.damaged_kind);
        continue;
      case ChunkWalk::Step::What::kChunk:
        break;
    }
    // The writer may have been sealing rows while they were read; when the chunk behind them is
    // there, that is over: a second look tells damage from this.
    const std::size_t from = index.final_end();
    if (step.chunk.kind != record::ChunkKind::kPlainRow && index.tail_is_damaged() &&
        tried_twice_from != from) {
      tried_twice_from = from;
      index.roll_back();
      walk.reread(from);
      continue;
    }
    index.add(step.chunk);
  }
}

const std::optional<record::Machine>& Recording::machine() const noexcept {
  return state_->index.machine;
}
const std::vector<record::Machine>& Recording::machines() const noexcept {
  return state_->index.machines;
}
const std::vector<record::Settings>& Recording::settings() const noexcept {
  return state_->index.settings;
}
const std::vector<record::Missing>& Recording::missing() const noexcept {
  return state_->index.missing;
}
const std::vector<record::Gap>& Recording::gaps() const noexcept { return state_->index.gaps; }

const std::vector<record::Device>& Recording::devices() const noexcept {
  return state_->index.devices;
}

const std::vector<record::Consumers>& Recording::consumers() const noexcept {
  return state_->index.consumers;
}
const std::optional<record::Stacks>& Recording::stacks() const noexcept {
  return state_->index.stacks;
}
const std::vector<record::NearLimit>& Recording::near_limits() const noexcept {
  return state_->index.near_limits;
}
bool Recording::told() const noexcept { return state_->index.told; }
const std::vector<Cell>& Recording::cells() const noexcept { return state_->index.cells; }
const std::vector<Group>& Recording::groups() const noexcept { return state_->index.groups; }
const std::optional<record::End>& Recording::end() const noexcept { return state_->index.end; }
const std::vector<record::Damage>& Recording::damages() const noexcept {
  return state_->index.damages;
}
const std::vector<std::shared_ptr<const record::Schema>>& Recording::schemas() const noexcept {
  return state_->index.schemas();
}
std::int64_t Recording::first_sample_ns() const noexcept { return state_->index.first_sample_ns; }
std::int64_t Recording::last_sample_ns() const noexcept { return state_->index.last_sample_ns; }
std::size_t Recording::size_bytes() const noexcept { return state_->size; }

const Cell* Recording::cell(std::int64_t index) const noexcept { return state_->index.cell(index); }

const Cell* Recording::latest_with_execution_count(std::int64_t count) const noexcept {
  const std::vector<Cell>& cells = state_->index.cells;
  const auto found = std::find_if(cells.rbegin(), cells.rend(), [count](const Cell& cell) {
    return cell.execution_count() == count;
  });
  return found == cells.rend() ? nullptr : &*found;
}

std::string Recording::source(const Cell& cell) const {
  ChunkWalk walk(state_->bytes, cell.source_offset, state_->size);
  const ChunkWalk::Step step = walk.next();
  if (step.what != ChunkWalk::Step::What::kChunk) return {};
  auto record = record::decode(step.chunk.kind, step.chunk.payload);
  auto* begin = record ? std::get_if<record::CellBegin>(&*record) : nullptr;
  if (begin == nullptr || begin->index != cell.begin.index) return {};
  return std::move(begin->source);
}

std::int64_t Recording::wall_ns(std::int64_t time_ns) const noexcept {
  const std::vector<record::Machine>& machines = state_->index.machines;
  std::int64_t offset_ns = 0;
  if (!machines.empty()) {
    offset_ns = machines.front().wall_offset_ns;
    // A clock that was set back leaves the labels where they were: they stay in order.
    for (const record::Machine& machine : machines) {
      if (machine.time_ns <= time_ns) offset_ns = std::max(offset_ns, machine.wall_offset_ns);
    }
  } else if (!state_->opened) {
    offset_ns = base::wall_offset_ns();  // this very machine, now
  }
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(time_ns) +
                                   static_cast<std::uint64_t>(offset_ns));
}

bool Recording::is_live() const {
  const ChunkIndex& index = state_->index;
  if (index.end) return false;
  if (!state_->opened) return true;
  return index.machine && may_still_run(*index.machine, index.last_sample_ns);
}

}  // namespace store
