// SPDX-License-Identifier: Apache-2.0
#include "data/sample/numbers.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>

#include "base/error.h"

// The words are read back by a parser that shares nothing with the writer but the twenty-eight simplest words.
namespace weft::sample {
namespace {

struct Language {
  std::map<std::string, int64_t> simple;  // up to 19, and the tens
  std::string conjunction;
  std::string tens_joint;  // between tens and ones: "-" or nothing
  std::map<std::string, int64_t> units;
};

Language english() {
  return {{{"zero", 0},      {"one", 1},       {"two", 2},       {"three", 3},    {"four", 4},     {"five", 5},
           {"six", 6},       {"seven", 7},     {"eight", 8},     {"nine", 9},     {"ten", 10},     {"eleven", 11},
           {"twelve", 12},   {"thirteen", 13}, {"fourteen", 14}, {"fifteen", 15}, {"sixteen", 16}, {"seventeen", 17},
           {"eighteen", 18}, {"nineteen", 19}, {"twenty", 20},   {"thirty", 30},  {"forty", 40},   {"fifty", 50},
           {"sixty", 60},    {"seventy", 70},  {"eighty", 80},   {"ninety", 90}},
          "and",
          "-",
          {{"hundred", 100}, {"thousand", 1000}, {"million", 1'000'000}}};
}

Language norwegian() {
  return {{{"null", 0},    {"en", 1},      {"ett", 1},      {"to", 2},       {"tre", 3},     {"fire", 4},
           {"fem", 5},     {"seks", 6},    {"sju", 7},      {"åtte", 8},     {"ni", 9},      {"ti", 10},
           {"elleve", 11}, {"tolv", 12},   {"tretten", 13}, {"fjorten", 14}, {"femten", 15}, {"seksten", 16},
           {"sytten", 17}, {"atten", 18},  {"nitten", 19},  {"tjue", 20},    {"tretti", 30}, {"førti", 40},
           {"femti", 50},  {"seksti", 60}, {"sytti", 70},   {"åtti", 80},    {"nitti", 90}},
          "og",
          "",
          {{"hundre", 100}, {"tusen", 1000}, {"million", 1'000'000}, {"millioner", 1'000'000}}};
}

// 0..99 from one word, or -1.
int64_t parse_word(const Language& language, const std::string& word) {
  if (const auto found = language.simple.find(word); found != language.simple.end()) return found->second;
  for (const auto& [tens, value] : language.simple) {
    if (value < 20 || !word.starts_with(tens + language.tens_joint)) continue;
    const auto ones = language.simple.find(word.substr((tens + language.tens_joint).size()));
    if (ones != language.simple.end() && ones->second > 0 && ones->second < 10) return value + ones->second;
  }
  return -1;
}

// The number that the words say, or -1: strict about "and" (needed before tens and ones, forbidden elsewhere) and
// about the order of the units.
int64_t parse(const Language& language, const std::string& text) {
  std::istringstream stream(text);
  int64_t total = 0, group = -1, last_unit = 1'000'000'000;
  bool after_conjunction = false, written = false;
  for (std::string word; stream >> word;) {
    if (word == language.conjunction) {
      if (after_conjunction || !written) return -1;
      after_conjunction = true;
      continue;
    }
    if (const auto unit = language.units.find(word); unit != language.units.end()) {
      if (group < 0 || after_conjunction) return -1;
      if (unit->second == 100) {
        if (group < 1 || group > 9) return -1;
        group *= 100;
      } else {
        if (unit->second >= last_unit) return -1;
        total += group * unit->second;
        last_unit = unit->second;
        group = -1;
      }
      written = true;
      continue;
    }
    const int64_t value = parse_word(language, word);
    if (value < 0) return -1;
    if (group >= 0 && (group % 100 != 0 || !after_conjunction)) return -1;
    group = (group < 0 ? 0 : group) + value;
    after_conjunction = false;
  }
  if (after_conjunction) return -1;
  return total + (group < 0 ? 0 : group);
}

TEST(SampleNumbers, EveryNumberTo9999ReadsBack) {
  const Language en = english(), no = norwegian();
  std::set<std::string> english_seen, norwegian_seen;
  for (int64_t n = 0; n <= 9'999; ++n) {
    ASSERT_EQ(parse(en, english_number(n)), n) << english_number(n);
    ASSERT_EQ(parse(no, norwegian_number(n)), n) << norwegian_number(n);
    ASSERT_EQ(parse(no, norwegian_number(n, Counting::Neuter)), n) << norwegian_number(n, Counting::Neuter);
    ASSERT_TRUE(english_seen.insert(english_number(n)).second) << n;
    ASSERT_TRUE(norwegian_seen.insert(norwegian_number(n)).second) << n;
  }
}

TEST(SampleNumbers, LargeNumbersReadBack) {
  const Language en = english(), no = norwegian();
  for (int64_t n = 10'000; n <= kLargestNumber; n += 9'973 + n / 17) {
    ASSERT_EQ(parse(en, english_number(n)), n) << english_number(n);
    ASSERT_EQ(parse(no, norwegian_number(n)), n) << norwegian_number(n);
  }
}

TEST(SampleNumbers, KnownWords) {
  EXPECT_EQ(english_number(0), "zero");
  EXPECT_EQ(norwegian_number(0), "null");
  EXPECT_EQ(english_number(231), "two hundred and thirty-one");
  EXPECT_EQ(norwegian_number(231), "to hundre og trettien");
  EXPECT_EQ(norwegian_number(27), "tjuesju");
  EXPECT_EQ(norwegian_number(100), "ett hundre");
  EXPECT_EQ(norwegian_number(1'001), "ett tusen og en");
  EXPECT_EQ(english_number(1'001), "one thousand and one");
  EXPECT_EQ(norwegian_number(21'000), "tjueett tusen");
  EXPECT_EQ(norwegian_number(101'000), "ett hundre og ett tusen");
  EXPECT_EQ(norwegian_number(1'000'000), "en million");
  EXPECT_EQ(norwegian_number(21'000'000), "tjueen millioner");
  EXPECT_EQ(norwegian_number(2'340'005), "to millioner tre hundre og førti tusen og fem");
  EXPECT_EQ(english_number(2'340'005), "two million three hundred and forty thousand and five");
}

TEST(SampleNumbers, NeuterCountsNeuterNouns) {
  EXPECT_EQ(norwegian_number(1, Counting::Neuter), "ett");
  EXPECT_EQ(norwegian_number(41, Counting::Neuter), "førtiett");
  EXPECT_EQ(norwegian_number(41), "førtien");
  EXPECT_EQ(norwegian_number(11, Counting::Neuter), "elleve");
}

TEST(SampleNumbers, OrdinalsAndYears) {
  EXPECT_EQ(english_ordinal(1), "first");
  EXPECT_EQ(norwegian_ordinal(1), "første");
  EXPECT_EQ(english_ordinal(12), "twelfth");
  EXPECT_EQ(norwegian_ordinal(12), "tolvte");
  EXPECT_EQ(norwegian_ordinal(17), "syttende");
  EXPECT_EQ(english_ordinal(20), "twentieth");
  EXPECT_EQ(english_ordinal(22), "twenty-second");
  EXPECT_EQ(norwegian_ordinal(22), "tjueandre");
  EXPECT_EQ(norwegian_ordinal(27), "tjuesjuende");
  EXPECT_EQ(english_ordinal(30), "thirtieth");
  EXPECT_EQ(norwegian_ordinal(30), "trettiende");
  EXPECT_EQ(english_ordinal(31), "thirty-first");
  EXPECT_EQ(norwegian_ordinal(31), "trettiførste");
  EXPECT_EQ(english_year(1984), "nineteen eighty-four");
  EXPECT_EQ(norwegian_year(1984), "nitten åttifire");
  std::set<std::string> seen;
  for (int day = 1; day <= 31; ++day) {
    EXPECT_TRUE(seen.insert(english_ordinal(day)).second) << day;
    EXPECT_TRUE(seen.insert(norwegian_ordinal(day)).second) << day;
  }
}

TEST(SampleNumbers, RefusesWhatHasNoWords) {
  EXPECT_THROW(english_number(-1), InternalError);
  EXPECT_THROW(norwegian_number(kLargestNumber + 1), InternalError);
  EXPECT_THROW(english_ordinal(0), InternalError);
  EXPECT_THROW(norwegian_ordinal(32), InternalError);
  EXPECT_THROW(english_year(1905), InternalError);
  EXPECT_THROW(norwegian_year(2001), InternalError);
}

}  // namespace
}  // namespace weft::sample
