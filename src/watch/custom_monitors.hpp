#pragma once
// The custom monitors of a session, as the kernel knows them: what they are, so that each sampler
// gets them anew, and what has become of them. A monitor runs under `jumper monitor run`
// (src/tools/monitor_run.hpp), hidden as the sampler is, and lives as long as a sampler reads its
// pipe and this process lives. Not thread-safe; nothing in here waits for a monitor.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "base/socket.hpp"
#include "record/marks.hpp"

namespace watch {

struct MonitorSpec {
  std::string name;
  std::string about;                 // for people: its command, its class
  std::vector<std::string> command;  // found along PATH
  std::string directory;             // where it runs
  std::string payload;               // what it finds on its standard input; "": nothing
  double rate_hz = 1;
};

struct MonitorInfo {
  enum class State { kBegins, kMeasures, kCutOff };
  std::string name, about;
  double rate_hz = 1;
  State state = State::kBegins;
  std::string reason;  // of kCutOff
};

class CustomMonitors {
 public:
  using Send = std::function<base::SendResult(const record::Message&, int descriptor)>;

  // Throws base::Error when one of that name runs.
  void add(MonitorSpec spec);
  // False: there is none. It ends when the sampler has heard of it.
  bool remove(const std::string& name);

  // There is another sampler: it is to get those that weren't cut off.
  void begin_anew();
  [[nodiscard]] bool has_unsent() const noexcept;
  // Starts what is to be started, and tells the sampler. False: the socket is full.
  bool send(const std::string& program, int root_pidfd, const Send& send);
  // What the sampler says of one; a sentence for the user, when it was cut off.
  std::optional<std::string> take(const record::MonitorState& state);

  [[nodiscard]] std::vector<MonitorInfo> list() const;

 private:
  struct One {
    MonitorSpec spec;
    MonitorInfo info;
    bool unsent = true;
    base::File pipe;  // of one that was started, until the sampler has it
  };
  bool start(One& one, const std::string& program, int root_pidfd);

  std::vector<One> list_;
  std::vector<std::string> removed_;  // the sampler doesn't know yet
};

}  // namespace watch
