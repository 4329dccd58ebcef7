// `jumper`: the program. Verbs live in one file each.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>

#include "tools/verbs.hpp"
#include "tools/version.hpp"

int main(int argc, char** argv) {
  CLI::App program("JUmPER: what did this cell do to my machine, and why is it slow?", "jumper");
  program.set_version_flag("--version", std::string(tools::kVersionText));
  program.require_subcommand(1);
  tools::Action chosen;
  tools::add_record(program, chosen);
  tools::add_report(program, chosen);
  tools::add_dump(program, chosen);
  tools::add_sample(program, chosen);
  tools::add_doctor(program, chosen);
  tools::add_monitor(program, chosen);
  tools::add_python_verbs(program, chosen);
  try {
    std::vector<std::string> arguments(argv + 1, argv + argc);
    tools::separate_command(arguments);
    const auto is_meant = [&](const CLI::App* verb) { return verb->get_name() == arguments[0]; };
    if (!arguments.empty() && !arguments[0].starts_with('-') &&
        program.get_subcommands(is_meant).empty()) {
      std::fprintf(stderr, "jumper: there is no verb '%s'; `jumper --help` lists them\n",
                   arguments[0].c_str());
      return 2;
    }
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
    program.parse(std::move(arguments));
    return chosen();
  } catch (const CLI::ParseError& error) {
    const int status = program.exit(error);
    return status == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "jumper: %s\n", error.what());
    return 1;
  }
}
