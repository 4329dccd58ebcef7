#include "probe/consumers.hpp"

#include <algorithm>
#include <exception>
#include <functional>
#include <iterator>
#include <utility>

namespace probe {
namespace {

constexpr std::ptrdiff_t kByMemory = 2;  // are listed for their memory alone

std::int64_t gain_of(const Process& process) noexcept {
  return std::max<std::int64_t>(process.own_ns() - process.told_ns, 0);
}

record::Consumer consumer_of(const Process& process) {
  record::Consumer consumer;
  consumer.pid = process.pid();
  consumer.start_ticks = process.start_ticks();
  consumer.name = process.name();  // 15 bytes: no allocation
  consumer.cpu_time_ns = gain_of(process);
  consumer.ended = process.ended || process.zombie();
  consumer.memory_bytes = process.memory_bytes();
  if (consumer.ended && consumer.memory_bytes == 0) {  // never seen alive
    consumer.memory_bytes = record::unknown(record::State::kVanished);
  }
  return consumer;
}

}  // namespace

Consumers::Consumers() { ended_.reserve(kMostEnded + 1); }

void Consumers::begin(std::span<Process> list, std::int64_t total_ns,
                      std::int64_t now_ns) noexcept {
  for (auto& process : list) process.told_ns = process.own_ns();
  ended_.clear();
  forgotten_ = 0;
  begin_ns_ = now_ns;
  told_ns_ = total_ns;
}

void Consumers::note_ended(const Process& process) noexcept {
  if (process.zombie() && gain_of(process) == 0) return;  // as a zombie it is told already
  try {
    ended_.push_back(consumer_of(process));
  } catch (const std::exception&) {
    return;
  }
  if (ended_.size() > kMostEnded) forget_smallest();
}

// Whoever used least, but for the two largest.
void Consumers::forget_smallest() noexcept {
  const auto by_memory = [](const auto& a, const auto& b) {
    return a.memory_bytes > b.memory_bytes;
  };
  std::ranges::nth_element(ended_, ended_.begin() + kByMemory, by_memory);
  const auto smallest = std::ranges::min_element(ended_.begin() + kByMemory, ended_.end(), {},
                                                 &record::Consumer::cpu_time_ns);
  if (smallest->cpu_time_ns > 0) ++forgotten_;
  std::swap(*smallest, ended_.back());
  ended_.pop_back();
}

// The chosen ones first, by CPU time; returns how many they are.
std::size_t Consumers::choose(pid_t root_pid, std::int64_t root_start_ticks) noexcept {
  const auto is_root = [&](const Candidate& candidate) {
    return candidate.pid == root_pid && candidate.start_ticks == root_start_ticks;
  };
  const auto by_cpu = [](const Candidate& a, const Candidate& b) {
    return std::pair(-a.cpu_ns, a.pid) < std::pair(-b.cpu_ns, b.pid);
  };
  const auto by_memory = [](const Candidate& a, const Candidate& b) {
    return std::pair(-a.memory_bytes, a.pid) < std::pair(-b.memory_bytes, b.pid);
  };
  const auto begin = candidates_.begin();
  const auto end = candidates_.end();
  const auto take = [&](auto from, std::ptrdiff_t count, auto before) {
    const auto to = from + std::min(count, end - from);
    std::partial_sort(from, to, end, before);
    return to;
  };
  const auto root_end = std::partition(begin, end, is_root);
  const auto memory_end = take(root_end, kByMemory, by_memory);
  constexpr auto kMost = static_cast<std::ptrdiff_t>(record::kMostConsumers);
  auto chosen_end = take(memory_end, kMost - (memory_end - begin), by_cpu);
  while (chosen_end != memory_end && std::prev(chosen_end)->cpu_ns == 0) --chosen_end;
  std::sort(begin, chosen_end, by_cpu);
  return static_cast<std::size_t>(chosen_end - begin);
}

void Consumers::collect(std::span<const Process> list) {
  candidates_.clear();
  for (const auto& process : list) {
    const std::int64_t gain_ns = gain_of(process);
    if (process.zombie() && gain_ns == 0) continue;
    candidates_.push_back(
        {&process, 0, process.pid(), process.start_ticks(), gain_ns, process.memory_bytes()});
  }
  for (std::size_t i = 0; i < ended_.size(); ++i) {
    const auto& ended = ended_[i];
    candidates_.push_back({nullptr, i, static_cast<pid_t>(ended.pid), ended.start_ticks,
                           ended.cpu_time_ns, std::max<std::int64_t>(ended.memory_bytes, 0)});
  }
}

std::vector<record::Consumer> Consumers::largest(std::span<const Process> list) noexcept {
  try {
    std::vector<const Process*> alive;
    for (const auto& process : list) {
      if (process.memory_bytes() > 0) alive.push_back(&process);
    }
    std::ranges::sort(alive, std::greater(), &Process::memory_bytes);
    alive.resize(std::min(alive.size(), kMostLargest));
    std::vector<record::Consumer> result;
    for (const Process* process : alive) {
      result.push_back(consumer_of(*process));
      result.back().cpu_time_ns = 0;
    }
    return result;
  } catch (const std::exception&) {
    return {};
  }
}

record::Consumers Consumers::take(std::span<Process> list, pid_t root_pid,
                                  std::int64_t root_start_ticks, std::int64_t total_ns,
                                  std::int64_t now_ns) noexcept {
  record::Consumers result;
  result.begin_ns = begin_ns_;
  result.end_ns = now_ns;
  result.others = forgotten_;
  std::int64_t listed_ns = 0;
  try {
    collect(list);
    result.list.reserve(record::kMostConsumers);
    const std::size_t chosen = choose(root_pid, root_start_ticks);
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const auto& candidate = candidates_[i];
      if (i >= chosen) {
        result.others += candidate.cpu_ns > 0 ? 1 : 0;
        continue;
      }
      result.list.push_back(candidate.process != nullptr ? consumer_of(*candidate.process)
                                                         : std::move(ended_[candidate.ended]));
      listed_ns += candidate.cpu_ns;
    }
  } catch (const std::exception&) {
    result.list.clear();
    result.others = static_cast<std::int64_t>(list.size());
    listed_ns = 0;
  }
  // A total that is the last to know of an end: what is listed beforehand is told once all the
  // same.
  result.others_cpu_time_ns = std::max<std::int64_t>(total_ns - told_ns_ - listed_ns, 0);
  begin(list, told_ns_ + listed_ns + result.others_cpu_time_ns, now_ns);
  return result;
}

}  // namespace probe
