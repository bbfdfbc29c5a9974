#include "data/sample/numbers.h"

#include <array>

#include "base/error.h"

namespace weft::sample {
namespace {

constexpr std::array<const char*, 20> kEnglishSmall = {
    "zero", "one",    "two",    "three",    "four",     "five",    "six",     "seven",     "eight",    "nine",
    "ten",  "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
constexpr std::array<const char*, 10> kEnglishTens = {"",      "",      "twenty",  "thirty", "forty",
                                                      "fifty", "sixty", "seventy", "eighty", "ninety"};
constexpr std::array<const char*, 20> kNorwegianSmall = {
    "null", "en",     "to",   "tre",     "fire",    "fem",    "seks",    "sju",    "åtte",  "ni",
    "ti",   "elleve", "tolv", "tretten", "fjorten", "femten", "seksten", "sytten", "atten", "nitten"};
constexpr std::array<const char*, 10> kNorwegianTens = {"",      "",       "tjue",  "tretti", "førti",
                                                        "femti", "seksti", "sytti", "åtti",   "nitti"};
constexpr std::array<const char*, 21> kEnglishOrdinals = {
    "",           "first",     "second",    "third",       "fourth",     "fifth",      "sixth",
    "seventh",    "eighth",    "ninth",     "tenth",       "eleventh",   "twelfth",    "thirteenth",
    "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth", "twentieth"};
constexpr std::array<const char*, 21> kNorwegianOrdinals = {
    "",          "første",   "andre",     "tredje",   "fjerde",  "femte",    "sjette",
    "sjuende",   "åttende",  "niende",    "tiende",   "ellevte", "tolvte",   "trettende",
    "fjortende", "femtende", "sekstende", "syttende", "attende", "nittende", "tjuende"};

std::string english_below_hundred(int64_t n) {
  if (n < 20) return kEnglishSmall[n];
  std::string words = kEnglishTens[n / 10];
  if (n % 10 != 0) words += std::string("-") + kEnglishSmall[n % 10];
  return words;
}

std::string norwegian_below_hundred(int64_t n, Counting counting) {
  const auto small = [&](int64_t k) { return k == 1 && counting == Counting::Neuter ? "ett" : kNorwegianSmall[k]; };
  if (n < 20) return small(n);
  std::string words = kNorwegianTens[n / 10];
  if (n % 10 != 0) words += small(n % 10);
  return words;
}

// Appends what is below the unit just written: "and" stands before tens and ones only.
void append_rest(std::string& words, int64_t rest, const char* conjunction, const std::string& rest_words) {
  if (rest == 0) return;
  words += rest < 100 ? std::string(" ") + conjunction + " " + rest_words : " " + rest_words;
}

void check_number(int64_t n) {
  require<InternalError>(n >= 0 && n <= kLargestNumber, "no words for the number {}: it must be in 0..{}", n,
                         kLargestNumber);
}

void check_day(int day) { require<InternalError>(day >= 1 && day <= 31, "no day {} in a month", day); }

void check_year(int year) {
  require<InternalError>(year >= 1110 && year <= 1999 && year % 100 >= 10, "no words for the year {}", year);
}

}  // namespace

std::string english_number(int64_t n) {
  check_number(n);
  if (n < 100) return english_below_hundred(n);
  const int64_t unit = n < 1000 ? 100 : n < 1'000'000 ? 1000 : 1'000'000;
  std::string words = english_number(n / unit);
  words += unit == 100 ? " hundred" : unit == 1000 ? " thousand" : " million";
  append_rest(words, n % unit, "and", english_number(n % unit));
  return words;
}

std::string norwegian_number(int64_t n, Counting counting) {
  check_number(n);
  if (n < 100) return norwegian_below_hundred(n, counting);
  const int64_t unit = n < 1000 ? 100 : n < 1'000'000 ? 1000 : 1'000'000;
  // hundre and tusen are neuter, million is masculine.
  std::string words = norwegian_number(n / unit, unit < 1'000'000 ? Counting::Neuter : Counting::Common);
  words += unit == 100 ? " hundre" : unit == 1000 ? " tusen" : n / unit == 1 ? " million" : " millioner";
  append_rest(words, n % unit, "og", norwegian_number(n % unit, counting));
  return words;
}

std::string english_ordinal(int day) {
  check_day(day);
  if (day <= 20) return kEnglishOrdinals[day];
  if (day == 30) return "thirtieth";
  return std::string(day < 30 ? "twenty-" : "thirty-") + kEnglishOrdinals[day % 10];
}

std::string norwegian_ordinal(int day) {
  check_day(day);
  if (day <= 20) return kNorwegianOrdinals[day];
  if (day == 30) return "trettiende";
  return std::string(day < 30 ? "tjue" : "tretti") + kNorwegianOrdinals[day % 10];
}

std::string english_year(int year) {
  check_year(year);
  return english_below_hundred(year / 100) + " " + english_below_hundred(year % 100);
}

std::string norwegian_year(int year) {
  check_year(year);
  return norwegian_below_hundred(year / 100, Counting::Common) + " " +
         norwegian_below_hundred(year % 100, Counting::Common);
}

}  // namespace weft::sample
