#pragma once
// Asks a kernel, by way of its sampler, for the Python stacks of its threads.

#include <string>

#include "record/records.hpp"

namespace tools {

// Sends the sampler of the recording at `path` its signal; `machine`: the recording's newest. ""
// when it was asked: the answer is in the recording about a second later, if the kernel isn't
// stopped. Else one sentence why it can't be asked. The recording's word for the process number
// isn't enough: only a process that has this very file open, and waits for the signal, gets it.
std::string ask_for_stacks(const std::string& path, const record::Machine& machine);

}  // namespace tools
