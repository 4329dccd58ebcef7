#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>

#include "base/error.hpp"
#include "tools/verbs.hpp"

namespace tools {
namespace {

std::string find_python() {
  const std::string program = own_path();
  std::string python = python_near(program);
  if (!python.empty()) return python;
  throw base::Error("cannot find Python beside", program,
                    "there is none, and VIRTUAL_ENV names none",
                    "use `python -m jumper install` with the Python that has jumper-hpc");
}

int exec_python(const std::string& verb, const std::vector<std::string>& rest) {
  const std::string python = find_python();
  // -P: a jumper.py in the current directory isn't us.
  std::vector<std::string> words{python, "-P", "-m", "jumper", verb};
  words.insert(words.end(), rest.begin(), rest.end());
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(python.c_str(), arguments.data());
  throw base::Error("cannot start", python, errno);
}

}  // namespace

std::string python_near(const std::string& program) {
  std::array<std::string, 2> directories{program.substr(0, program.rfind('/'))};
  const char* environment = std::getenv("VIRTUAL_ENV");
  if (environment != nullptr && *environment == '/') {
    directories[1] = std::string(environment) + "/bin";
  }
  for (const std::string& directory : directories) {
    for (const char* name : {"/python3", "/python"}) {
      std::string path = directory + name;
      if (!directory.empty() && ::access(path.c_str(), X_OK) == 0) return path;
    }
  }
  return {};
}

std::string own_path() {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  if (length <= 0)
    throw base::Error("cannot find the program's own path in", "/proc/self/exe", errno);
  return {path.data(), static_cast<std::size_t>(length)};
}

void add_python_verbs(CLI::App& program, Action& chosen) {
  struct Verb {
    const char* name;
    const char* help;
  };
  constexpr std::array kVerbs{
      Verb{"install",
           "install the kernel \"JUmPER\": [--user|--prefix P|--sys-prefix] [--name N] "
           "[--env K=V]"},
      Verb{"enable", "load JUmPER in every kernel of your IPython profile"},
      Verb{"disable", "undo enable"},
  };
  for (const Verb& one : kVerbs) {
    CLI::App* verb = program.add_subcommand(one.name, one.help);
    verb->prefix_command();
    verb->set_help_flag();  // Python's own help is the one that knows
    verb->callback([verb, &chosen, name = std::string(one.name)] {
      chosen = [name, rest = verb->remaining()] { return exec_python(name, rest); };
    });
  }
}

}  // namespace tools
