// A launcher's text: words that, each quoted again, give the same words.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "engine/launch.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const std::vector<std::string> words = engine::split_words(text);
    std::string again;
    for (const auto& word : words) {
      again += " '";
      for (const char c : word) again += c == '\'' ? std::string(R"('\'')") : std::string(1, c);
      again += '\'';
    }
    if (engine::split_words(again) != words) __builtin_trap();
    engine::needs_named_channel(words);
    const std::size_t most = engine::launch_command(words, "python", "engine.py").size();
    if (most > words.size() + 2) __builtin_trap();
  } catch (const base::Error& error) {
    if (error.what()[0] == '\0') __builtin_trap();
  }
  return 0;
}
