#pragma once
// What the tests of the checks share: variables and folders for the time of a test, and a check's
// findings.

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "probe/host_tree.hpp"
#include "tools/doctor.hpp"
#include "tools/doctor_apart.hpp"

namespace tools {

// Sets a variable for the time of one test; nullptr: unset.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { set(before_ ? before_->c_str() : nullptr); }

 private:
  void set(const char* value) const {
    value != nullptr ? ::setenv(name_, value, 1) : ::unsetenv(name_);
  }
  const char* name_;
  std::optional<std::string> before_;
};

// What a check said, in a child as in real life.
class Said {
 public:
  Said(void (*check)(const Subject&, Sheet&), const Subject& subject,
       std::chrono::milliseconds limit = std::chrono::seconds(20)) {
    run_apart(Check{"group", "check", Result::kLimited, limit, check}, subject,
              [this](const Finding& finding) { list_.push_back(finding); });
  }
  [[nodiscard]] const std::vector<Finding>& list() const { return list_; }
  // The first about `what`.
  [[nodiscard]] Finding about(std::string_view what, std::string_view group = {}) const {
    for (const Finding& finding : list_) {
      if (finding.what == what && (group.empty() || finding.group == group)) return finding;
    }
    ADD_FAILURE() << "nothing was said about " << what;
    return {};
  }
  // All about it, joined.
  [[nodiscard]] std::string all(std::string_view what) const {
    std::string text;
    for (const Finding& finding : list_) {
      if (finding.what == what) text += finding.reason + "\n";
    }
    return text;
  }

 private:
  std::vector<Finding> list_;
};

inline Subject this_machine() {
  Subject subject;
  subject.pid = ::getpid();
#ifdef JUMPER_PROGRAM
  subject.program = JUMPER_PROGRAM;
#endif
  return subject;
}

inline Subject machine(const probe::HostTree& tree) {
  Subject subject = this_machine();
  subject.root = tree.root();
  return subject;
}

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "doctor-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::filesystem::path operator/(const char* name) const { return path_ / name; }
  [[nodiscard]] std::string string() const { return path_.string(); }
  [[nodiscard]] bool empty() const { return std::filesystem::is_empty(path_); }

 private:
  std::filesystem::path path_;
};

inline void write_program(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

}  // namespace tools
