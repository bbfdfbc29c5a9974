// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

// Numbers, ordinals and years in words, for the sample corpus (data/sample/corpus.h).
//
// English follows British usage ("two hundred and thirty-one"). Norwegian is Bokmål with the counting of 1951
// ("to hundre og trettien"), every hundred and thousand with its multiplier ("ett tusen"), and the neuter "ett" if
// the number counts a neuter noun: "tjueett tusen", but "tjueen millioner".
namespace weft::sample {

inline constexpr int64_t kLargestNumber = 999'999'999;

enum class Counting { Common, Neuter };  // the gender of what is counted: "tjueen kroner", "tjueett tusen"

std::string english_number(int64_t n);  // 0 <= n <= kLargestNumber
std::string norwegian_number(int64_t n, Counting counting = Counting::Common);

std::string english_ordinal(int day);  // 1 <= day <= 31: "twenty-first"
std::string norwegian_ordinal(int day);

std::string english_year(int year);  // 1110 <= year <= 1999, last two digits >= 10: "nineteen eighty-four"
std::string norwegian_year(int year);

}  // namespace weft::sample
