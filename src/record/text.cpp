#include "record/text.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstring>
#include <optional>

#include "record/real.hpp"

namespace record {
namespace {

constexpr std::size_t kMostTextBytes = 120;
constexpr std::size_t kMostEndTextBytes = 512;

// The length of the UTF-8 sequence at the front of `text` (RFC 3629), 0 when it isn't one.
std::size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const std::size_t length = lead < 0x80   ? 1
                             : lead < 0xC2 ? 0
                             : lead < 0xE0 ? 2
                             : lead < 0xF0 ? 3
                             : lead < 0xF5 ? 4
                                           : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool surrogate = lead == 0xED && byte(1) >= 0xA0;
  const bool beyond = lead == 0xF4 && byte(1) >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

// Marks that turn the direction of writing around, line separators, and a byte order mark: U+200E,
// 200F, 2028-202E, 2066-2069, FEFF.
bool turns_text(std::string_view sequence) noexcept {
  if (sequence == "\xEF\xBB\xBF") return true;
  if (sequence.size() != 3 || sequence.front() != '\xE2') return false;
  const auto last = static_cast<unsigned char>(sequence[2]);
  return sequence[1] == '\x80' ? last == 0x8E || last == 0x8F || (last >= 0xA8 && last <= 0xAE)
                               : sequence[1] == '\x81' && last >= 0xA6 && last <= 0xA9;
}

std::string quoted(std::string_view text) { return '"' + escaped(text, kMostTextBytes) + '"'; }

std::string value_text(Value value, bool real = false) {
  if (const auto number = real ? number_of(true, value) : std::nullopt) {
    return fmt::format("{}", *number);
  }
  if (!real && is_known(value)) return std::to_string(value);
  std::string text("?");
  return text.append(state_word(state_of(value)));
}

std::string counters_text(const EdgeCounters& counters) {
  return fmt::format(
      "cpu_time_ns={} children_cpu_time_ns={} io_read_bytes={} io_write_bytes={} io_read_ops={} "
      "io_write_ops={} storage_read_bytes={} storage_write_bytes={} peak_bytes={} "
      "children_peak_bytes={} voluntary_switches={} involuntary_switches={} "
      "children_voluntary_switches={} children_involuntary_switches={}",
      value_text(counters.cpu_time_ns), value_text(counters.children_cpu_time_ns),
      value_text(counters.io_read_bytes), value_text(counters.io_write_bytes),
      value_text(counters.io_read_ops), value_text(counters.io_write_ops),
      value_text(counters.storage_read_bytes), value_text(counters.storage_write_bytes),
      value_text(counters.peak_bytes), value_text(counters.children_peak_bytes),
      value_text(counters.voluntary_switches), value_text(counters.involuntary_switches),
      value_text(counters.children_voluntary_switches),
      value_text(counters.children_involuntary_switches));
}

// " engine_start_ns=…" and so on; empty for what ran in none.
std::string engine_text(const EngineTimes& engine) {
  if (!engine.any()) return {};
  return fmt::format(" engine_start_ns={} engine_carry_ns={} engine_return_ns={}",
                     value_text(engine.start_ns), value_text(engine.carry_ns),
                     value_text(engine.return_ns));
}

std::string mib(Value bytes) {
  return fmt::format("{:.0f} MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string out_of_memory_text(const End& end) {
  std::string text = end.detail == static_cast<std::int64_t>(OomKiller::kLimit)
                         ? "killed by the memory limit"
                     : end.detail == static_cast<std::int64_t>(OomKiller::kMachine)
                         ? "killed because the machine was out of memory"
                         : "killed by an out-of-memory daemon";
  const bool peak = is_known(end.memory_peak_bytes);
  const bool limit = is_known(end.memory_limit_bytes);
  if (peak && limit) {
    text +=
        fmt::format(" (peak {} of {})", mib(end.memory_peak_bytes), mib(end.memory_limit_bytes));
  } else if (peak || limit) {
    text += fmt::format(" ({} {})", peak ? "peak" : "limit",
                        mib(peak ? end.memory_peak_bytes : end.memory_limit_bytes));
  }
  return end.text.empty() ? text : text + ": " + escaped(end.text, kMostEndTextBytes);
}

struct Line {
  std::string operator()(const Machine& machine) const {
    return fmt::format(
        "machine time_ns={} wall_offset_ns={} host={} boot_id={} kernel={} jumper={} label={} "
        "root_pid={} root_start_ticks={} sampler_pid={} uid={} cores_online={} memory_bytes={} "
        "affinity={} process_source={} user_source={} job_source={} node_source={}",
        machine.time_ns, machine.wall_offset_ns, quoted(machine.host), quoted(machine.boot_id),
        quoted(machine.kernel_release), quoted(machine.jumper_version), quoted(machine.label),
        machine.root_pid, machine.root_start_ticks, machine.sampler_pid, machine.uid,
        machine.cores_online, machine.memory_bytes, fmt::join(machine.affinity, ","),
        quoted(machine.process_source), quoted(machine.user_source), quoted(machine.job_source),
        quoted(machine.node_source));
  }
  std::string operator()(const Schema& schema) const {
    std::string line = fmt::format("schema columns={}", schema.columns.size());
    for (const Column& column : schema.columns) {
      line += fmt::format(" {}:{}", escaped(column.name, kMostTextBytes),
                          column.kind == Kind::kCounter ? "counter" : "gauge");
      if (column.real) line += fmt::format(":real:{}", quoted(column.unit));
    }
    return line;
  }
  std::string operator()(const Settings& settings) const {
    return fmt::format("settings time_ns={} rate_hz={}{}", settings.time_ns, settings.rate_hz,
                       settings.reason.empty() ? "" : " reason=" + quoted(settings.reason));
  }
  std::string operator()(const Missing& missing) const {
    return fmt::format("missing time_ns={} name={} state={} reason={}", missing.time_ns,
                       quoted(missing.name), quoted(state_word(missing.state)),
                       quoted(missing.reason));
  }
  std::string operator()(const CellBegin& cell) const {
    return fmt::format(
        "cell_begin index={} execution_count={} time_ns={} sample_ns={} {} source_bytes={} "
        "source={}",
        cell.index, cell.execution_count, cell.time_ns, cell.sample_ns,
        counters_text(cell.counters), cell.source_bytes, quoted(cell.source));
  }
  std::string operator()(const CellEnd& cell) const {
    std::string line =
        fmt::format("cell_end index={} execution_count={} time_ns={} sample_ns={} outcome={} {}",
                    cell.index, cell.execution_count, cell.time_ns, cell.sample_ns,
                    outcome_word(cell.outcome), counters_text(cell.counters));
    return line + engine_text(cell.engine);
  }
  std::string operator()(const Gap& gap) const {
    return fmt::format("gap begin_ns={} end_ns={} reason={} text={}", gap.begin_ns, gap.end_ns,
                       quoted(gap_reason_text(gap.reason)), quoted(gap.text));
  }
  std::string operator()(const End& end) const {
    return fmt::format("end time_ns={} cause={}", end.time_ns, quoted(end_text(end)));
  }
  std::string operator()(const Stacks& stacks) const {
    return fmt::format("stacks time_ns={} text={}", stacks.time_ns, quoted(stacks.text));
  }
  std::string operator()(const NearLimit& near) const {
    std::string line =
        fmt::format("near_limit time_ns={} source={} memory_bytes={} limit_bytes={}", near.time_ns,
                    quoted(near.source), near.memory_bytes, near.limit_bytes);
    for (const Consumer& one : near.largest) {
      line += fmt::format(" {}[{}]={}", quoted(one.name), one.pid, one.memory_bytes);
    }
    return line;
  }
  std::string operator()(const Group& group) const {
    return fmt::format("group index={} time_ns={} step={} name={}", group.index, group.time_ns,
                       group_step_word(group.step), quoted(group.name)) +
           engine_text(group.engine);
  }
  std::string operator()(const Told& told) const {
    return fmt::format("told wall_ns={}", told.wall_ns);
  }
  std::string operator()(const Device& device) const {
    return fmt::format(
        "device time_ns={} name={} kind={} model={} id={} index={} memory_bytes={} text={}",
        device.time_ns, quoted(device.name), quoted(device.kind), quoted(device.model),
        quoted(device.id), device.index, value_text(device.memory_bytes), quoted(device.text));
  }
  std::string operator()(const Consumers& consumers) const {
    std::string line = fmt::format(
        "consumers begin_ns={} end_ns={} others={} others_cpu_time_ns={}", consumers.begin_ns,
        consumers.end_ns, consumers.others, consumers.others_cpu_time_ns);
    for (const Consumer& one : consumers.list) {
      line += fmt::format(" pid={} start_ticks={} name={} cpu_time_ns={} memory_bytes={}{}",
                          one.pid, one.start_ticks, quoted(one.name), one.cpu_time_ns,
                          value_text(one.memory_bytes), one.ended ? " ended" : "");
    }
    return line;
  }
};

}  // namespace

std::string escaped(std::string_view text, std::size_t most_bytes) {
  std::string out;
  const std::size_t whole = text.size();
  text = text.substr(0, most_bytes);
  while (!text.empty()) {
    const char front = text.front();
    std::size_t length = utf8_length(text);
    if (front == '\n') {
      out += "\\n";
    } else if (front == '\t') {
      out += "\\t";
    } else if (front == '"' || front == '\\') {
      out += '\\';
      out += front;
    } else if (length == 0 || static_cast<unsigned char>(front) < 0x20 || front == 0x7F ||
               (length == 2 && static_cast<unsigned char>(front) == 0xC2 &&
                static_cast<unsigned char>(text[1]) < 0xA0) ||
               turns_text(text.substr(0, length))) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(front));
      length = 1;
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(length > 0 ? length : 1);
  }
  if (whole > most_bytes) out += fmt::format("… ({} bytes)", whole);
  return out;
}

std::string to_line(const Record& record) { return std::visit(Line{}, record); }

std::string row_line(const Rows& rows, std::size_t row, const Schema& schema, bool sealed) {
  const std::uint8_t flags = rows.flags[row];
  std::string line = fmt::format(
      "row time_ns={} duration_ns={} cpu_ns={} flags={}{}{}", rows.time_ns[row],
      rows.duration_ns[row], rows.cpu_ns[row], (flags & kEdgeSample) != 0 ? "edge" : "tick",
      (flags & kLateSample) != 0 ? ",late" : "", sealed ? ",sealed" : "");
  for (std::size_t column = 0; column < rows.columns; ++column) {
    const std::string name = column < schema.columns.size()
                                 ? escaped(schema.columns[column].name, kMostTextBytes)
                                 : fmt::format("column{}", column);
    const bool real = column < schema.columns.size() && schema.columns[column].real;
    line += fmt::format(" {}={}", name, value_text(rows.at(column, row), real));
  }
  return line;
}

std::string_view group_step_word(GroupStep step) noexcept {
  switch (step) {
    case GroupStep::kBegun:
      return "begun";
    case GroupStep::kEnded:
      return "ended";
    case GroupStep::kDropped:
      break;
  }
  return "dropped";
}

std::string_view outcome_word(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::kOk:
      return "ok";
    case Outcome::kError:
      return "error";
    case Outcome::kInterrupted:
      return "interrupted";
    case Outcome::kDied:
      break;
  }
  return "died";
}

std::string_view gap_reason_text(GapReason reason) noexcept {
  switch (reason) {
    case GapReason::kSamplerStopped:
      return "the sampler was stopped or starved";
    case GapReason::kSamplerLost:
      return "the sampler was lost";
    case GapReason::kClockJump:
      return "the clock jumped";
    case GapReason::kWriteFailed:
      return "the samples could not be written";
    case GapReason::kReplaced:
      return "the recording was replaced";
    case GapReason::kDropped:
      break;
  }
  return "the disk was too slow";
}

std::string end_text(const End& end) {
  switch (end.cause) {
    case EndCause::kClosed:
      return end.text.empty() ? "closed" : "closed: " + escaped(end.text, kMostEndTextBytes);
    case EndCause::kExited:
      return fmt::format("exited with status {}", end.detail);
    case EndCause::kKilled: {
      const int signal = static_cast<int>(end.detail);
      const char* name = signal > 0 && signal < NSIG ? sigabbrev_np(signal) : nullptr;
      std::string text = name == nullptr
                             ? fmt::format("killed by signal {}", end.detail)
                             : fmt::format("killed by signal {} (SIG{})", end.detail, name);
      return end.text.empty() ? text : text + ": " + escaped(end.text, kMostEndTextBytes);
    }
    case EndCause::kOutOfMemory:
      return out_of_memory_text(end);
    case EndCause::kUnknown:
      break;
  }
  return "ended for an unknown reason: reaped first";
}

}  // namespace record
