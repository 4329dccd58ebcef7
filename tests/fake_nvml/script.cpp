#include "script.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <mutex>
#include <sstream>

namespace fake_nvml {
namespace {

// Calls so far by "PATH FUNCTION DEVICE", for "@3".
std::mutex counts_mutex;
std::map<std::string, int>& counts() {
  static std::map<std::string, int> counts;
  return counts;
}

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

bool applies(const std::string& rule, const std::string& counted) {
  const auto at = rule.find('@');
  const std::lock_guard lock(counts_mutex);
  const int call = ++counts()[counted];
  if (at == std::string::npos) return true;
  const int wanted = std::atoi(rule.c_str() + at + 1);
  return rule.back() == '+' ? call >= wanted : call == wanted;
}

}  // namespace

Script Script::read() {
  Script script;
  const char* path = std::getenv("JUMPER_FAKE_NVML");
  if (path == nullptr) return script;
  script.path_ = path;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto equals = line.find('=');
    if (equals == std::string::npos) continue;
    script.lines_[trimmed(line.substr(0, equals))] = trimmed(line.substr(equals + 1));
  }
  return script;
}

std::string Script::text(const std::string& key, const std::string& otherwise) const {
  const auto found = lines_.find(key);
  return found == lines_.end() ? otherwise : found->second;
}

std::uint64_t Script::number(const std::string& key, std::uint64_t otherwise) const {
  const auto found = lines_.find(key);
  return found == lines_.end() ? otherwise : std::strtoull(found->second.c_str(), nullptr, 10);
}

std::vector<std::string> Script::words(const std::string& key) const {
  std::istringstream stream(text(key));
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::vector<std::uint64_t> Script::numbers(const std::string& key, std::size_t count) const {
  std::vector<std::uint64_t> numbers;
  for (const auto& word : words(key)) {
    numbers.push_back(std::strtoull(word.c_str(), nullptr, 10));
  }
  numbers.resize(count);
  return numbers;
}

int Script::fault(const std::string& function, const std::string& device) const {
  for (const std::string& who : {device, std::string("*")}) {
    const std::string call = function + " " + who;
    if (has("block " + call)) {
      const int fifo = ::open(text("block " + call).c_str(), O_RDONLY | O_CLOEXEC);
      if (fifo >= 0) ::close(fifo);
    }
    if (!has("fail " + call)) continue;
    const std::string rule = text("fail " + call);
    if (applies(rule, path_ + " " + call)) return std::atoi(rule.c_str());
  }
  return 0;
}

void Script::note(const std::string& function) const {
  if (!path_.empty()) std::ofstream(path_ + ".calls", std::ios::app) << function << "\n";
}

std::vector<std::uint64_t> split_numbers(const std::string& word) {
  std::vector<std::uint64_t> numbers;
  std::istringstream stream(word);
  for (std::string part; std::getline(stream, part, ':');) {
    numbers.push_back(std::strtoull(part.c_str(), nullptr, 10));
  }
  return numbers;
}

}  // namespace fake_nvml
