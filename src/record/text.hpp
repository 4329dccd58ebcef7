#pragma once
// Every record as one line, for people and for tests (`jumper dump`).

#include <string>

#include "record/log.hpp"

namespace record {

// "cell_begin index=1 execution_count=3 time_ns=… source="import x\n…"". Control characters and
// bytes that aren't UTF-8 are escaped; long texts are cut with their full length behind.
std::string to_line(const Record& record);

// One line a row: "row time_ns=… flags=edge process.cpu_time_ns=… …" ("?" + state when unknown).
// Names come from `schema`; columns beyond it are numbered.
std::string row_line(const Rows& rows, std::size_t row, const Schema& schema, bool sealed);

std::string_view group_step_word(GroupStep step) noexcept;  // "begun", "ended", "dropped"
std::string_view outcome_word(Outcome outcome) noexcept;    // "ok", "error", "interrupted", "died"
std::string_view gap_reason_text(
    GapReason reason) noexcept;  // "the sampler was stopped or starved"

// "exited with status 1", "killed by signal 9 (SIGKILL)", "closed", "ended, …reaped first".
std::string end_text(const End& end);

// `text` with everything escaped that isn't printable UTF-8: \n, \xNN, and quotes.
std::string escaped(std::string_view text, std::size_t most_bytes);

}  // namespace record
