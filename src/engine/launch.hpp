#pragma once
// What a launcher's text means as a command line. The kernel calls this before anything starts.

#include <string>
#include <string_view>
#include <vector>

namespace engine {

// The words of `text` as a POSIX shell would part them: blanks, '…', "…" (in which a backslash
// escapes \ " $ `), a backslash before any other character; a backslash at the end of a line joins
// it to the next one. Nothing is expanded: ~, *, $HOME stay as they are.
// Throws base::Error, with the place counted in characters from 1: a quote that isn't closed, a
// backslash with nothing after it, a character 0, and what only a shell can do (; | & < > ( ) not
// quoted, ` and $( not quoted or in "…").
std::vector<std::string> split_words(std::string_view text);

// The command that starts the engine under `words` (a launcher, as split_words gave it):
//   no words                                     PYTHON ENGINE
//   {engine} in the text                         both fields are replaced, nothing is appended
//   a Python runner (coverage run, viztracer, python -m scorep …), wherever in the words
//                                                WORDS ENGINE
//   else: a command prefix, known or not         WORDS PYTHON ENGINE
// Never a `--` before the engine: Score-P's bindings pass it on and fail. Throws base::Error when
// the text has {python} but not {engine}: the engine would never start.
std::vector<std::string> launch_command(const std::vector<std::string>& words,
                                        const std::string& python,
                                        const std::string& engine_script);

// Whether one of the words is a launcher that closes the descriptors it inherits (mpirun, mpiexec,
// srun, sudo …): the engine then comes to a named channel (engine/rendezvous.hpp).
bool needs_named_channel(const std::vector<std::string>& words);

}  // namespace engine
