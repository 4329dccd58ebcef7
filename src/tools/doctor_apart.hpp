#pragma once
// A check in a child process, with a time limit.

#include <chrono>
#include <functional>
#include <string>

#include "tools/doctor.hpp"

namespace tools {

struct Check {
  const char* group;  // of what it says, until it says another one
  const char* what;   // when it says nothing because it hangs or dies
  Result silent;      // … and what that means then
  std::chrono::milliseconds limit;
  void (*run)(const Subject&, Sheet&);
};

// Runs the check in a child and hands what it says to `sink`, at once. A child that takes longer
// is killed; that, its death and a refused fork (then no sampler can be started, either) are
// findings, too. The child dies with us. Call it without other threads.
void run_apart(const Check& check, const Subject& subject, const Sheet::Sink& sink);

// A child that lives until this object is gone, for checks that look into another process. It
// does nothing but wait, and dies with us.
class Bystander {
 public:
  Bystander();
  Bystander(const Bystander&) = delete;
  Bystander& operator=(const Bystander&) = delete;
  ~Bystander();

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }  // -1: no process could be started

 private:
  pid_t pid_;
};

// Lets the kernel end this process when `parent` has ended or ends.
void die_with(pid_t parent) noexcept;

}  // namespace tools
