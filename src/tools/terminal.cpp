#include "tools/terminal.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "base/file.hpp"

namespace tools {
namespace {

constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l";  // the other screen, no cursor
constexpr std::string_view kLeave = "\x1b[?25h\x1b[?1049l";
constexpr std::array kEnding{SIGINT, SIGTERM, SIGHUP, SIGQUIT};

volatile std::sig_atomic_t ending_signal = 0;
std::array<struct sigaction, kEnding.size()> actions_before{};

winsize size_now() noexcept {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return {};
  return size;
}

}  // namespace

bool Terminal::is_there() noexcept { return ::isatty(STDOUT_FILENO) == 1; }

int Terminal::ended_by() noexcept { return ending_signal; }

Terminal::Terminal() {
  struct sigaction action{};
  action.sa_handler = [](int signal) { ending_signal = signal; };  // no SA_RESTART: poll() returns
  for (std::size_t i = 0; i < kEnding.size(); ++i) {
    ::sigaction(kEnding[i], nullptr, &actions_before[i]);
    if (actions_before[i].sa_handler != SIG_IGN) ::sigaction(kEnding[i], &action, nullptr);
  }
  termios settings{};
  // In the background a change of the settings would stop us.
  if (::tcgetpgrp(STDIN_FILENO) == ::getpgrp() && ::tcgetattr(STDIN_FILENO, &settings) == 0) {
    before_ = settings;
    settings.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    settings.c_cc[VMIN] = 0;
    settings.c_cc[VTIME] = 0;
    settings.c_cc[VSUSP] = _POSIX_VDISABLE;  // stopped, it would leave the terminal like this
    ::tcsetattr(STDIN_FILENO, TCSANOW, &settings);
  }
  base::write_all(STDOUT_FILENO, kEnter);
}

Terminal::~Terminal() {
  base::write_all(STDOUT_FILENO, kLeave);
  if (before_) ::tcsetattr(STDIN_FILENO, TCSANOW, &*before_);
  for (std::size_t i = 0; i < kEnding.size(); ++i) {
    ::sigaction(kEnding[i], &actions_before[i], nullptr);
  }
}

std::size_t Terminal::columns() const noexcept {
  constexpr std::size_t kUsual = 80;
  const winsize size = size_now();
  return size.ws_col > 0 ? size.ws_col : kUsual;
}

std::size_t Terminal::rows() const noexcept {
  constexpr std::size_t kUsual = 24;
  const winsize size = size_now();
  return size.ws_row > 0 ? size.ws_row : kUsual;
}

std::optional<char> Terminal::key() noexcept {
  char key = 0;
  if (!before_ || ::read(STDIN_FILENO, &key, 1) != 1) return std::nullopt;
  return key;
}

void Terminal::draw(const std::vector<std::string>& lines, std::size_t rows) {
  std::string text = "\x1b[H";
  const std::size_t shown = std::min(lines.size(), rows);
  for (std::size_t i = 0; i < shown; ++i) {
    text += lines[i] + "\x1b[K";
    if (i + 1 < shown) text += "\r\n";
  }
  base::write_all(STDOUT_FILENO, text + "\x1b[J");
}

}  // namespace tools
