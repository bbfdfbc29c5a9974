// SPDX-License-Identifier: Apache-2.0
#include "data/sample/numbers.h"

#include <sstream>
#include <vector>

#include "base/error.h"

namespace weft::sample {
namespace {

struct Language {
  std::vector<std::string> small;     // 0 to 19
  std::vector<std::string> tens;      // 20, 30, ...
  std::vector<std::string> ordinals;  // 0 (none) to 20, then 30
  std::string hyphen, conjunction, hundred, thousand, million, millions;
};

std::vector<std::string> words_of(const char* text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

const Language& english() {
  static const Language language{
      words_of("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
               "seventeen eighteen nineteen"),
      words_of("twenty thirty forty fifty sixty seventy eighty ninety"),
      words_of("- first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
               "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth thirtieth"),
      "-",
      " and ",
      " hundred",
      " thousand",
      " million",
      " million"};
  return language;
}

const Language& norwegian() {
  static const Language language{
      words_of("null en to tre fire fem seks sju åtte ni ti elleve tolv tretten fjorten femten seksten sytten atten "
               "nitten"),
      words_of("tjue tretti førti femti seksti sytti åtti nitti"),
      words_of("- første andre tredje fjerde femte sjette sjuende åttende niende tiende ellevte tolvte trettende "
               "fjortende femtende sekstende syttende attende nittende tjuende trettiende"),
      "",
      " og ",
      " hundre",
      " tusen",
      " million",
      " millioner"};
  return language;
}

// `one` is the word for 1 if it ends the number.
std::string below_hundred(const Language& words, int64_t n, const std::string& one) {
  const auto small = [&](int64_t k) { return k == 1 ? one : words.small[k]; };
  if (n < 20) return small(n);
  return words.tens[n / 10 - 2] + (n % 10 == 0 ? "" : words.hyphen + small(n % 10));
}

// `neuter_one` stands before hundreds and thousands, which are neuter in Norwegian.
std::string number(const Language& words, int64_t n, const std::string& one, const std::string& neuter_one) {
  require<InternalError>(n >= 0 && n <= kLargestNumber, "no words for the number {}: it must be in 0..{}", n,
                         kLargestNumber);
  if (n < 100) return below_hundred(words, n, one);
  const int64_t unit = n < 1000 ? 100 : n < 1'000'000 ? 1000 : 1'000'000;
  const int64_t units = n / unit, rest = n % unit;
  std::string text = number(words, units, unit < 1'000'000 ? neuter_one : words.small[1], neuter_one);
  text += unit == 100 ? words.hundred : unit == 1000 ? words.thousand : units == 1 ? words.million : words.millions;
  // "and" stands before tens and ones only.
  if (rest > 0) text += (rest < 100 ? words.conjunction : " ") + number(words, rest, one, neuter_one);
  return text;
}

std::string ordinal(const Language& words, int day) {
  require<InternalError>(day >= 1 && day <= 31, "no day {} in a month", day);
  if (day <= 20 || day == 30) return words.ordinals[day == 30 ? 21 : day];
  return words.tens[day / 10 - 2] + words.hyphen + words.ordinals[day % 10];
}

std::string year_words(const Language& words, int year) {
  require<InternalError>(year >= 1110 && year <= 1999 && year % 100 >= 10, "no words for the year {}", year);
  const std::string& one = words.small[1];
  return below_hundred(words, year / 100, one) + " " + below_hundred(words, year % 100, one);
}

}  // namespace

std::string english_number(int64_t n) { return number(english(), n, "one", "one"); }
std::string norwegian_number(int64_t n, Counting counting) {
  return number(norwegian(), n, counting == Counting::Neuter ? "ett" : "en", "ett");
}

std::string english_ordinal(int day) { return ordinal(english(), day); }
std::string norwegian_ordinal(int day) { return ordinal(norwegian(), day); }

std::string english_year(int year) { return year_words(english(), year); }
std::string norwegian_year(int year) { return year_words(norwegian(), year); }

}  // namespace weft::sample
