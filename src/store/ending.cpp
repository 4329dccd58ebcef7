#include "store/ending.hpp"

#include "record/text.hpp"

namespace store {
namespace {

Ending::Kind kind_of(record::EndCause cause) noexcept {
  switch (cause) {
    case record::EndCause::kClosed:
      return Ending::Kind::kClosed;
    case record::EndCause::kExited:
      return Ending::Kind::kExited;
    case record::EndCause::kKilled:
      return Ending::Kind::kKilled;
    case record::EndCause::kOutOfMemory:
      return Ending::Kind::kOutOfMemory;
    case record::EndCause::kUnknown:
      break;
  }
  return Ending::Kind::kUnknown;
}

}  // namespace

Ending ending_of(const Recording& recording) {
  Ending ending;
  if (!recording.cells().empty() && !recording.cells().back().end) {
    ending.cell = &recording.cells().back();
  }
  if (recording.end()) {
    ending.kind = kind_of(recording.end()->cause);
    ending.text = record::end_text(*recording.end());
    ending.time_ns = recording.end()->time_ns;
    return ending;
  }
  ending.time_ns = recording.last_sample_ns();
  if (recording.is_live()) {
    ending.kind = Ending::Kind::kRunning;
    return ending;
  }
  ending.probably = true;
  ending.text = "probably: the recording stops without an end";
  return ending;
}

}  // namespace store
