#include "watch/sampler_command.hpp"

#include <fmt/format.h>

namespace watch {
namespace {

constexpr std::size_t kFirstDescriptor = 3;  // as base::start_hidden() numbers them

}  // namespace

SamplerCommand sampler_command(const WatchOptions& options, pid_t root, double rate_hz,
                               const Inherited& inherited) {
  SamplerCommand command;
  command.arguments = {options.program, "sample"};
  const auto say = [&](const char* option, std::string value) {
    command.arguments.emplace_back(option);
    command.arguments.push_back(std::move(value));
  };
  const auto pass = [&](const char* option, int fd) {
    if (fd < 0) return;
    say(option, std::to_string(kFirstDescriptor + command.descriptors.size()));
    command.descriptors.push_back(fd);
  };
  const auto number = [&](const char* option, std::int64_t value, std::int64_t least) {
    if (value >= least) say(option, std::to_string(value));
  };
  pass("--socket", inherited.socket);
  pass("--recording", inherited.recording);
  say("--root-pid", std::to_string(root));
  say("--rate", fmt::format("{}", rate_hz));
  pass("--root-pidfd", inherited.root_pidfd);
  pass("--spill", inherited.spill);
  if (inherited.spill >= 0) say("--spill-offset", std::to_string(inherited.spill_offset));
  number("--most-bytes", options.most_bytes, 1);
  number("--keep-days", options.keep_days, 0);
  number("--keep-bytes", options.keep_bytes, 0);
  if (!options.process_level) command.arguments.emplace_back("--no-process");
  if (!options.node_level) command.arguments.emplace_back("--no-node");
  return command;
}

}  // namespace watch
