#pragma once
// /proc/vmstat: what went between block devices and memory, and what page faults there were.

#include <string_view>

#include "record/value.hpp"

namespace probe {

// Counters since boot; unknown(kNotSupported) where the text doesn't have them.
struct Vmstat {
  record::Value read_bytes = record::unknown(record::State::kNotSupported);
  record::Value write_bytes = record::unknown(record::State::kNotSupported);
  record::Value swap_in_pages = record::unknown(record::State::kNotSupported);
  record::Value swap_out_pages = record::unknown(record::State::kNotSupported);
  record::Value page_faults = record::unknown(record::State::kNotSupported);
  record::Value major_page_faults = record::unknown(record::State::kNotSupported);
};

// Parses /proc/vmstat (proc(5); mm/vmstat.c): pgpgin and pgpgout are shown in KiB, and counted by
// submit_bio() in block/blk-core.c, each request once where it is submitted. (A loop device's file
// is read a second time, and is counted so.)
//
//   pgpgin 1176885
//   pgpgout 934876
//   pswpin 0
//   pswpout 0
//   pgfault 348752480
//   pgmajfault 152972
Vmstat parse_vmstat(std::string_view text) noexcept;

}  // namespace probe
