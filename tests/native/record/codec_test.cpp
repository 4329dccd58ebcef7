#include "record/codec.hpp"

#include <gtest/gtest.h>

#include "record/bytes.hpp"
#include "record/examples.hpp"
#include "record/marks.hpp"
#include "record/real.hpp"
#include "record/records.hpp"
#include "record/rows.hpp"
#include "record/text.hpp"

namespace record {
namespace {

TEST(Codec, BringsEveryRecordBackAsItWas) {
  for (const Record& record : one_of_each()) {
    std::string bytes;
    encode(record, bytes);
    const auto back = decode(kind_of(record), bytes);
    ASSERT_TRUE(back) << to_line(record);
    EXPECT_EQ(to_line(*back), to_line(record));
  }
}

TEST(Codec, IgnoresFieldsThatALaterVersionAdded) {
  for (const Record& record : one_of_each()) {
    std::string bytes;
    encode(record, bytes);
    bytes += "more";
    const auto back = decode(kind_of(record), bytes);
    ASSERT_TRUE(back);
    EXPECT_EQ(to_line(*back), to_line(record));
  }
}

TEST(Codec, RefusesEveryCut) {
  for (const Record& record : one_of_each()) {
    std::string bytes;
    encode(record, bytes);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(decode(kind_of(record), std::string_view(bytes).substr(0, size)))
          << to_line(record) << " cut at " << size;
    }
  }
}

TEST(Codec, SurvivesEveryFlippedBit) {
  for (const Record& record : one_of_each()) {
    std::string bytes;
    encode(record, bytes);
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      std::string flipped = bytes;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
      const auto back = decode(kind_of(record), flipped);
      EXPECT_TRUE(!back || !to_line(*back).empty());
    }
  }
}

const Schema kWithReal{{{"process.cpu_time_ns", Kind::kCounter},
                        {"node.train.loss", Kind::kGauge, true, "nats"},
                        {"node.train.steps", Kind::kCounter, true}}};

TEST(Codec, BringsRealColumnsBack) {
  std::string bytes;
  encode(kWithReal, bytes);
  const auto back = decode(ChunkKind::kSchema, bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(to_line(*back),
            "schema columns=3 process.cpu_time_ns:counter node.train.loss:gauge:real:\"nats\" "
            "node.train.steps:counter:real:\"\"");
}

// What an earlier version reads: as many columns, those without a level it passes over.
TEST(Codec, NamesRealColumnsBehindWhatEarlierReadersKnow) {
  std::string bytes;
  encode(kWithReal, bytes);
  ByteReader reader(bytes);
  ASSERT_EQ(reader.count(2), 3U);
  EXPECT_EQ(reader.text(), "process.cpu_time_ns");
  reader.u8();
  EXPECT_EQ(reader.text(), "");
  reader.u8();
  EXPECT_EQ(reader.text(), "");
}

TEST(Codec, RefusesARealColumnThatIsNone) {
  std::string bytes;
  encode(Schema{}, bytes);
  ByteWriter writer(bytes);
  writer.u8(1);
  writer.varint(1);
  writer.varint(7);
  writer.text("node.a.b");
  writer.text("");
  EXPECT_FALSE(decode(ChunkKind::kSchema, bytes));
}

TEST(RealValues, AreExactAndNeverTakenForUnknownOnes) {
  for (const double number : {0.0, -0.0, 0.1, 0.3, -0.3, 1e300, -1e-300, 9007199254740993.0}) {
    EXPECT_EQ(number_of(true, real_value(number)), number);
  }
  for (const State state :
       {State::kNotYet, State::kNotPermitted, State::kNotSupported, State::kVanished}) {
    EXPECT_EQ(number_of(true, unknown(state)), std::nullopt);
  }
  EXPECT_EQ(number_of(true, std::bit_cast<Value>(HUGE_VAL)), std::nullopt);
  EXPECT_EQ(number_of(false, 7), 7);
  EXPECT_EQ(number_of(false, unknown(State::kNotYet)), std::nullopt);
}

TEST(Codec, RefusesAnOutcomeThatIsNone) {
  std::string bytes;
  encode(Settings{}, bytes);
  EXPECT_FALSE(decode(ChunkKind::kGap, std::string("\x02\x02\x63\x00", 4)));
}

TEST(ByteReader, RefusesACountThatItsInputCanNotHold) {
  std::string bytes;
  ByteWriter(bytes).varint(1'000'000'000'000);
  ByteReader reader(bytes);
  EXPECT_EQ(reader.count(1), 0U);
  EXPECT_FALSE(reader.ok());
}

TEST(ByteReader, KeepsNumbersOfAnySize) {
  constexpr std::int64_t kNumbers[] = {0, -1, 1, INT64_MAX, INT64_MIN, 127, 128, -64, -65};
  std::string bytes;
  ByteWriter writer(bytes);
  for (const std::int64_t number : kNumbers) writer.svarint(number);
  ByteReader reader(bytes);
  for (const std::int64_t number : kNumbers) EXPECT_EQ(reader.svarint(), number);
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.left(), 0U);
}

TEST(Record, KeepsWhatAnEngineTookBehindEverythingElse) {
  CellEnd cell{7, 4, 1'000, 0, Outcome::kOk, {}};
  std::string without;
  encode(cell, without);
  cell.engine = {1'500, 2'500, unknown(State::kNotSupported)};
  std::string with;
  encode(cell, with);
  EXPECT_EQ(with.substr(0, without.size()), without);  // what readers before it know
  const auto none = decode(ChunkKind::kCellEnd, without);
  ASSERT_TRUE(none);
  EXPECT_FALSE(std::get<CellEnd>(*none).engine.any());
  const auto back = decode(ChunkKind::kCellEnd, with);
  ASSERT_TRUE(back);
  EXPECT_EQ(std::get<CellEnd>(*back).engine.start_ns, 1'500);
  EXPECT_EQ(std::get<CellEnd>(*back).engine.carry_ns, 2'500);
  EXPECT_FALSE(is_known(std::get<CellEnd>(*back).engine.return_ns));
  EXPECT_FALSE(decode(ChunkKind::kCellEnd, with.substr(0, without.size() + 1)));
}

TEST(Message, BringsEveryMarkBackAsItWas) {
  const auto records = one_of_each();
  const std::vector<Message> messages{std::get<CellBegin>(records[4]),
                                      std::get<CellEnd>(records[5]),
                                      std::get<Settings>(records[2]),
                                      Close{"the kernel is restarted"},
                                      Ack{12, true, 34},
                                      Spill{56, false, "full"},
                                      Hello{"a notebook.ipynb"},
                                      AskStacks{},
                                      VisibleDevices{true, "1,GPU-8"},
                                      std::get<Stacks>(records[10]),
                                      Guard{95.5},
                                      std::get<NearLimit>(records[11]),
                                      std::get<Group>(records[13]),
                                      Apart{4711, 123456, true},
                                      Moved{MoveReason::kReplaced, "/a/b.jumper", "why"},
                                      Stalled{true}};
  for (const Message& message : messages) {
    std::string bytes;
    encode_message(message, bytes);
    const auto back = decode_message(bytes);
    ASSERT_TRUE(back);
    std::string again;
    encode_message(*back, again);
    EXPECT_EQ(again, bytes);
    EXPECT_EQ(back->index(), message.index());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(decode_message(std::string_view(bytes).substr(0, size)));
    }
  }
  EXPECT_FALSE(decode_message("\x63"));
}

TEST(Rows, ComeBackAsTheyWereInBothCodings) {
  std::vector<Sample> samples;
  for (int row = 0; row < 20; ++row) {
    samples.push_back(
        sample_at(1'000'000'000 + row * 100'000'000LL, {5, row * row, -row % 5, INT64_MAX - row}));
    samples.back().flags = static_cast<std::uint8_t>(row % 4);
  }
  std::string sealed;
  encode_sealed_rows(samples, samples.size(), sealed);
  const auto rows = decode_sealed_rows(sealed);
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->count, samples.size());
  std::size_t plain_bytes = 0;
  for (std::size_t row = 0; row < samples.size(); ++row) {
    std::string plain;
    encode_plain_row(samples[row], plain);
    plain_bytes += plain.size();
    const auto one = decode_plain_row(plain);
    ASSERT_TRUE(one);
    EXPECT_EQ(rows->time_ns[row], samples[row].time_ns);
    EXPECT_EQ(rows->flags[row], samples[row].flags);
    for (std::size_t column = 0; column < 4; ++column) {
      EXPECT_EQ(rows->at(column, row), samples[row].values[column]);
      EXPECT_EQ(one->at(column, 0), samples[row].values[column]);
    }
  }
  EXPECT_LT(sealed.size(), plain_bytes / 2);
}

TEST(Rows, BoundWhatHostileBytesMayClaim) {
  std::string bytes;
  ByteWriter writer(bytes);
  writer.varint(1ULL << 40);  // rows, all in constant columns
  writer.varint(2);
  for (int series = 0; series < 6; ++series) {
    writer.u8(0);
    writer.svarint(1);
  }
  EXPECT_FALSE(decode_sealed_rows(bytes));
  EXPECT_FALSE(decode_sealed_rows(""));
  EXPECT_FALSE(decode_plain_row("\x01"));
}

// Numbers of every length, one after the other, with and without 64 bytes behind them.
TEST(Rows, AreReadAsTheyWereWrittenWhateverTheirLength) {
  std::vector<Sample> samples(40);
  std::uint64_t chance = 1;
  for (Sample& sample : samples) {
    for (int column = 0; column < 30; ++column) {
      chance = chance * 6364136223846793005U + 1442695040888963407U;
      sample.values.push_back(static_cast<Value>(chance >> 1U >> (chance >> 58U)));
    }
    sample.time_ns = static_cast<std::int64_t>(chance >> 20);
  }
  std::string sealed;
  encode_sealed_rows(samples, samples.size(), sealed);
  const auto rows = decode_sealed_rows(sealed);
  ASSERT_TRUE(rows);
  std::vector<char> seldom(30, 0);
  for (std::size_t column = 0; column < 30; column += 3) seldom[column] = 1;
  const auto few = decode_sealed_rows(sealed, seldom);
  ASSERT_TRUE(few);
  for (std::size_t row = 0; row < samples.size(); ++row) {
    for (std::size_t column = 0; column < 30; ++column) {
      EXPECT_EQ(rows->at(column, row), samples[row].values[column]);
      const bool left_out = row > 0 && seldom[column] != 0;
      EXPECT_EQ(few->at(column, row),
                left_out ? unknown(State::kNotYet) : samples[row].values[column]);
    }
  }
  for (std::size_t size = 0; size < sealed.size(); ++size) {
    EXPECT_FALSE(decode_sealed_rows(std::string_view(sealed).substr(0, size)));
    EXPECT_FALSE(decode_sealed_rows(std::string_view(sealed).substr(0, size), seldom));
  }
}

TEST(Text, EscapesWhatIsNoPrintableUtf8) {
  EXPECT_EQ(escaped("größe \xF0\x9F\x98\x80\n\t\"\\\x1b[31m", 100),
            "größe 😀\\n\\t\\\"\\\\\\x1b[31m");
  EXPECT_EQ(escaped("\xED\xA0\x80 \xFF \xC0\x80 \xC2\x85", 100),
            "\\xed\\xa0\\x80 \\xff \\xc0\\x80 \\xc2\\x85");
  EXPECT_EQ(escaped("a\u202Eb\u2066\u200F\uFEFF", 100),
            "a\\xe2\\x80\\xaeb\\xe2\\x81\\xa6\\xe2\\x80\\x8f\\xef\\xbb\\xbf");
  EXPECT_EQ(escaped("12345", 3), "123… (5 bytes)");
}

TEST(Text, SaysHowAProcessEnded) {
  EXPECT_EQ(end_text({0, EndCause::kKilled, 9}), "killed by signal 9 (SIGKILL)");
  EXPECT_EQ(end_text({0, EndCause::kKilled, 4242}), "killed by signal 4242");
  EXPECT_EQ(end_text({0, EndCause::kExited, 3}), "exited with status 3");
  for (const EndCause cause : {EndCause::kClosed, EndCause::kKilled, EndCause::kOutOfMemory}) {
    End hostile{0, cause, 0};
    hostile.text = "\x1b[2J\nmore";
    EXPECT_NE(end_text(hostile).find(": \\x1b[2J\\nmore"), std::string::npos);
  }
}

}  // namespace
}  // namespace record
