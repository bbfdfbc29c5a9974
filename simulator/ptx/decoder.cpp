// SPDX-License-Identifier: Apache-2.0
#include "simulator/ptx/decoder.h"

#include <algorithm>

#include "simulator/ptx/text.h"

namespace weft::cuda_device {

Words::Words(std::string_view opcode) : words_(split(opcode, '.')), taken_(words_.size(), false) {
  if (words_.empty()) throw UnknownInstruction("no instruction");
  taken_[0] = true;
}

bool Words::has(std::string_view word) const { return std::ranges::find(words_, word) != words_.end(); }

bool Words::take(std::string_view word) {
  for (size_t k = 1; k < words_.size(); ++k)
    if (!taken_[k] && words_[k] == word) {
      taken_[k] = true;
      return true;
    }
  return false;
}

bool Words::take_any(std::initializer_list<std::string_view> words) {
  return std::ranges::count_if(words, [&](std::string_view w) { return take(w); }) > 0;
}

std::string_view Words::take_one(std::initializer_list<std::string_view> words, std::string_view fallback) {
  for (const std::string_view word : words)
    if (take(word)) return word;
  return fallback;
}

std::string_view Words::take_last() {
  for (size_t k = words_.size(); --k > 0;)
    if (!taken_[k]) {
      taken_[k] = true;
      return words_[k];
    }
  throw UnknownInstruction("no type");
}

std::string Words::left_over() const {
  std::string left;
  for (size_t k = 1; k < words_.size(); ++k)
    if (!taken_[k]) (left += ".") += words_[k];
  return left;
}

}  // namespace weft::cuda_device
