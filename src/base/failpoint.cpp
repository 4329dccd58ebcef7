#include "base/failpoint.hpp"

#ifdef JUMPER_FAILPOINTS

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>

namespace base {
namespace {

struct Rule {
  std::string_view name;
  std::string_view action;
  long pass = 0;
  bool onwards = false;
  std::atomic<long> passes = 0;
};

struct Rules {
  std::array<Rule, 8> list;
  std::size_t count = 0;

  Rules() {
    const char* text = std::getenv("JUMPER_FAILPOINTS");
    std::string_view rest = text != nullptr ? text : "";
    while (!rest.empty() && count < list.size()) {
      const std::string_view item = rest.substr(0, rest.find(','));
      rest.remove_prefix(item.size() == rest.size() ? item.size() : item.size() + 1);
      const auto equals = item.find('=');
      const auto at = item.find('@');
      if (equals == item.npos || at == item.npos || at < equals) continue;
      Rule& rule = list[count++];
      rule.name = item.substr(0, equals);
      rule.action = item.substr(equals + 1, at - equals - 1);
      rule.onwards = item.back() == '+';
      std::from_chars(item.data() + at + 1, item.data() + item.size(), rule.pass);
    }
  }
};

}  // namespace

bool fails_at(std::string_view name) noexcept {
  static Rules rules;
  for (std::size_t i = 0; i < rules.count; ++i) {
    Rule& rule = rules.list[i];
    if (rule.name != name) continue;
    const long pass = ++rule.passes;
    if (pass != rule.pass && !(rule.onwards && pass > rule.pass)) continue;
    if (rule.action == "kill") std::raise(SIGKILL);
    if (rule.action == "stop") {
      std::raise(SIGSTOP);
      continue;
    }
    int code = EIO;
    std::from_chars(rule.action.data(), rule.action.data() + rule.action.size(), code);
    errno = code;
    return true;
  }
  return false;
}

}  // namespace base

#endif
