#pragma once
// Text and paths on their way over the border. All with the GIL held.

#include <nanobind/nanobind.h>

#include <string>

namespace bind {

// Text that may hold anything (paths, foreign bytes): what isn't UTF-8 is replaced.
nanobind::object text(const std::string& bytes);

// A path's own bytes, whatever they are (PEP 383), and back again.
std::string path_bytes(nanobind::handle path);
nanobind::object path_object(const std::string& path);

// What execve(2) takes: as path_bytes, from str, bytes or os.PathLike. Throws ValueError for a
// character 0 in it, TypeError for other objects.
std::string argument_bytes(nanobind::handle argument);

}  // namespace bind
