#include "base/error.hpp"

#include <cstring>

namespace base {
namespace {

std::string sentence(std::string_view verb_phrase, std::string_view object, std::string_view reason,
                     std::string_view remedy) {
  std::string text(verb_phrase);
  if (!object.empty()) text.append(" '").append(object).append("'");
  text.append(": ").append(reason);
  if (!remedy.empty()) text.append("; ").append(remedy);
  return text;
}

}  // namespace

std::string errno_text(int code) {
  // strerrordesc_np (glibc 2.32) neither translates nor shares a buffer, strerror does both.
  const char* words = strerrordesc_np(code);
  return words != nullptr ? words : "unknown error " + std::to_string(code);
}

Error::Error(std::string_view verb_phrase, std::string_view object, int code,
             std::string_view remedy)
    : std::runtime_error(sentence(verb_phrase, object, errno_text(code), remedy)),
      code_(code),
      object_(object) {}

Error::Error(std::string_view verb_phrase, std::string_view object, std::string_view reason,
             std::string_view remedy)
    : std::runtime_error(sentence(verb_phrase, object, reason, remedy)),
      code_(0),
      object_(object) {}

}  // namespace base
