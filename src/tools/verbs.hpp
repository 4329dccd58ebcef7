#pragma once
// The verbs of the program `jumper`: one function adds one verb with its options to the command
// line, and says what runs when it is chosen. What runs returns the exit status and throws
// base::Error, which main() prints as one line.

#include <CLI/App.hpp>
#include <functional>
#include <string>
#include <vector>

namespace tools {

using Action = std::function<int()>;

void add_sample(CLI::App& program, Action& chosen);
void add_record(CLI::App& program, Action& chosen);
// `record ls -l` -> `record -- ls -l`: what follows the command's name is the command's.
// `arguments` = the words behind the program's name.
void separate_command(std::vector<std::string>& arguments);
void add_dump(CLI::App& program, Action& chosen);
void add_report(CLI::App& program, Action& chosen);
void add_doctor(CLI::App& program, Action& chosen);
void add_monitor(CLI::App& program, Action& chosen);
// The option --rate of a verb: within what a Schedule takes, and a number.
void add_rate(CLI::App& verb, double& rate_hz);
// install, enable, disable: they exec `PYTHON -m jumper VERB …`.
void add_python_verbs(CLI::App& program, Action& chosen);

// The interpreter that has this program's package: beside the program, else that of the active
// virtual environment (only by an absolute path: nothing of the current folder is run). "": none.
std::string python_near(const std::string& program);

// The path of this program itself, with symbolic links resolved. Throws base::Error.
std::string own_path();

}  // namespace tools
