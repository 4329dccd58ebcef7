#pragma once
// The terminal that we draw on: keys one by one, a screen of our own, and all as it was afterwards.

#include <termios.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tools {

class Terminal {
 public:
  // Standard output is a terminal.
  static bool is_there() noexcept;

  // Switches to the other screen; keys are read one by one and unseen where standard input is the
  // same terminal and ours. While it lives, SIGINT, SIGTERM, SIGHUP and SIGQUIT only set
  // ended_by(). One at a time.
  Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();  // as it was

  [[nodiscard]] std::size_t columns() const noexcept;
  [[nodiscard]] std::size_t rows() const noexcept;
  // Where keys come from; -1: there are none.
  [[nodiscard]] int keys_fd() const noexcept { return before_ ? 0 : -1; }
  // The next key, when one was pressed.
  std::optional<char> key() noexcept;

  // Draws the lines from the top; those that don't fit aren't shown. Only printable UTF-8.
  static void draw(const std::vector<std::string>& lines, std::size_t rows);

  // The signal that asked us to leave; 0: none.
  static int ended_by() noexcept;

 private:
  std::optional<termios> before_;
};

}  // namespace tools
