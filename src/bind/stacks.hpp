#pragma once
// The Python stacks of this process, while it runs or hangs: read by a thread that holds no lock
// and has no Python, and that nothing of the interpreter can hold up.

#include <functional>
#include <string>

namespace bind {

// With the GIL held. What it gives may be called at any time by any thread, without the GIL: the
// text of watch::stacks_text, or one sentence ("not supported on …", "not safe here: …"). At most
// 100 threads, 100 frames each. The threads run on meanwhile: a stack that doesn't stand still is
// read again some times, then marked. Takes a few ms of the caller's time, none of theirs.
std::function<std::string()> stacks_reader();

}  // namespace bind
