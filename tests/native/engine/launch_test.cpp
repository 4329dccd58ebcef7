#include "engine/launch.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "base/error.hpp"

namespace engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string refusal_of(std::string_view text) {
  try {
    split_words(text);
  } catch (const base::Error& error) {
    return error.what();
  }
  return "nothing was refused";
}

std::string command_of(std::string_view text) {
  return fmt::format("{}", fmt::join(launch_command(split_words(text), "PY", "EN"), "|"));
}

TEST(SplitWords, PartsAtBlanksOnly) {
  EXPECT_THAT(split_words("  perf stat\t-e  cycles:u \n"),
              ElementsAre("perf", "stat", "-e", "cycles:u"));
  EXPECT_TRUE(split_words("").empty());
  EXPECT_TRUE(split_words(" \t ").empty());
}

TEST(SplitWords, KeepsWhatIsQuotedTogether) {
  EXPECT_THAT(split_words("a 'b c'd \"e f\" ''"), ElementsAre("a", "b cd", "e f", ""));
  EXPECT_THAT(split_words(R"('$(x) `y` ; \n')"), ElementsAre(R"($(x) `y` ; \n)"));
  EXPECT_THAT(split_words(R"("a\"b\\c\$(d)\`e\n;|&")"), ElementsAre(R"(a"b\c$(d)`e\n;|&)"));
  EXPECT_THAT(split_words(R"("it's" 'say "x"')"), ElementsAre("it's", "say \"x\""));
}

TEST(SplitWords, TakesTheCharacterBehindABackslashAsItIs) {
  EXPECT_THAT(split_words(R"(a\ b \; \| \\ \")"), ElementsAre("a b", ";", "|", "\\", "\""));
  EXPECT_THAT(split_words("perf \\\nstat \"x\\\ny\""), ElementsAre("perf", "stat", "xy"));
}

TEST(SplitWords, ExpandsNothing) {
  EXPECT_THAT(split_words("~/x $HOME *.py # {a,b} \"$HOME\""),
              ElementsAre("~/x", "$HOME", "*.py", "#", "{a,b}", "$HOME"));
}

TEST(SplitWords, NamesThePlaceOfAnOpenQuote) {
  EXPECT_THAT(refusal_of("perf 'stat"), HasSubstr("the quote ' at character 6 is not closed"));
  EXPECT_THAT(refusal_of("\"a\\\""), HasSubstr("the quote \" at character 1 is not closed"));
  EXPECT_THAT(refusal_of("é 'x"), HasSubstr("at character 3"));
  EXPECT_THAT(refusal_of("a \\"), HasSubstr("nothing follows the backslash at character 3"));
  EXPECT_THAT(refusal_of(std::string_view("a\0b", 3)), HasSubstr("character 2 is 0"));
}

TEST(SplitWords, SaysThatNoShellRuns) {
  for (const std::string_view sign : {";", "|", "&", "<", ">", "(", ")", "`", "$("}) {
    EXPECT_THAT(refusal_of(fmt::format("ab {}x", sign)),
                HasSubstr(fmt::format("no shell runs here: {} at character 4", sign)));
  }
  EXPECT_THAT(refusal_of("a \"b`c`\""), HasSubstr("no shell runs here: ` at character 5"));
  EXPECT_THAT(refusal_of("\"$(date)\""), HasSubstr("no shell runs here: $( at character 2"));
}

TEST(LaunchCommand, FollowsTheTableOfTools) {
  constexpr std::array<std::array<std::string_view, 2>, 37> kTable{{
      {"", "PY|EN"},
      {"env A=b nice -n 5", "env|A=b|nice|-n|5|PY|EN"},
      {"env PYTHON=/usr/bin/python3", "env|PYTHON=/usr/bin/python3|PY|EN"},
      {"/usr/bin/time -v", "/usr/bin/time|-v|PY|EN"},
      {"/usr/bin/time -o python", "/usr/bin/time|-o|python|PY|EN"},
      {"perf stat -e x", "perf|stat|-e|x|PY|EN"},
      {"perf record -o viztracer", "perf|record|-o|viztracer|PY|EN"},
      {"strace -c", "strace|-c|PY|EN"},
      {"strace -c coverage run", "strace|-c|coverage|run|EN"},
      {"ltrace -S", "ltrace|-S|PY|EN"},
      {"taskset 0x3", "taskset|0x3|PY|EN"},
      {"numactl --membind=0", "numactl|--membind=0|PY|EN"},
      {"mpirun -n 1", "mpirun|-n|1|PY|EN"},
      {"mpirun -n 1 python3 -m scorep", "mpirun|-n|1|python3|-m|scorep|EN"},
      {"srun -J python -n1", "srun|-J|python|-n1|PY|EN"},
      {"valgrind --tool=massif", "valgrind|--tool=massif|PY|EN"},
      {"gdb -batch -ex run --args", "gdb|-batch|-ex|run|--args|PY|EN"},
      {"nsys profile -o out", "nsys|profile|-o|out|PY|EN"},
      {"timeout 60", "timeout|60|PY|EN"},
      {"timeout 60 kernprof -l", "timeout|60|kernprof|-l|EN"},
      {"unheard-of --flag", "unheard-of|--flag|PY|EN"},
      {"coverage run --source=.", "coverage|run|--source=.|EN"},
      {"coverage --debug=sys run", "coverage|--debug=sys|run|EN"},
      {"/opt/x/bin/coverage-3.11 run", "/opt/x/bin/coverage-3.11|run|EN"},
      {"coverage report", "coverage|report|PY|EN"},
      {"env A=1 coverage run", "env|A=1|coverage|run|EN"},
      {"viztracer -o x.json", "viztracer|-o|x.json|EN"},
      {"memray run -o f", "memray|run|-o|f|EN"},
      {"kernprof -l -v", "kernprof|-l|-v|EN"},
      {"pyinstrument -r html", "pyinstrument|-r|html|EN"},
      {"scalene --cli", "scalene|--cli|EN"},
      {"python -m scorep --nopython", "python|-m|scorep|--nopython|EN"},
      {"python3.12 -X importtime", "python3.12|-X|importtime|EN"},
      {"/venv/bin/python -m cProfile -o p", "/venv/bin/python|-m|cProfile|-o|p|EN"},
      {"tool --run={python}:{engine} --", "tool|--run=PY:EN|--"},
      {"{python} -m trace -t {engine} x", "PY|-m|trace|-t|EN|x"},
      {"sh -c 'exec \"$0\" x' {python} {engine}", "sh|-c|exec \"$0\" x|PY|EN"},
  }};
  for (const auto& [text, command] : kTable) EXPECT_EQ(command_of(text), command) << text;
}

TEST(LaunchCommand, PutsNoOptionTerminatorBeforeTheEngine) {
  for (const auto* text : {"", "perf stat", "python -m scorep --mpp=none", "coverage run"}) {
    for (const auto& word : launch_command(split_words(text), "PY", "EN")) EXPECT_NE(word, "--");
  }
}

TEST(LaunchCommand, LeavesFieldsInThePathsThemselvesAlone) {
  EXPECT_THAT(launch_command({"{python}{engine}"}, "/a{engine}/py", "/b{python}/en"),
              ElementsAre("/a{engine}/py/b{python}/en"));
}

TEST(LaunchCommand, RefusesAPythonWithoutAnEngine) {
  try {
    command_of("{python} -m coverage run");
    ADD_FAILURE();
  } catch (const base::Error& error) {
    EXPECT_STREQ(error.what(),
                 "cannot use launcher '{python} -m coverage run': it says {python} but not where "
                 "the engine goes; put {engine} where its script would stand");
  }
}

TEST(NeedsNamedChannel, OnlyForLaunchersThatCloseDescriptors) {
  for (const auto* text : {"mpirun -n 1", "/usr/bin/mpiexec", "env A=1 srun -n1", "sudo -u me",
                           "perf stat mpirun", "mpiexec.hydra", "mpirun {python} {engine}"}) {
    EXPECT_TRUE(needs_named_channel(split_words(text))) << text;
  }
  for (const auto* text : {"", "perf stat", "env X=mpirun", "coverage run", "perf stat -o srun"}) {
    EXPECT_FALSE(needs_named_channel(split_words(text))) << text;
  }
}

}  // namespace
}  // namespace engine
