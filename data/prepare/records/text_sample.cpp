// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/records/text_sample.h"

#include <algorithm>

#include "base/philox.h"

namespace weft {

namespace {

constexpr uint32_t kSampleStream = 0x53414D50;  // keeps these draws apart from others

uint64_t draw_of(uint64_t number) {
  const auto bits = Philox(0)({static_cast<uint32_t>(number), static_cast<uint32_t>(number >> 32), kSampleStream, 0});
  return uint64_t{bits[0]} << 32 | bits[1];
}

}  // namespace

void TextSample::add(std::string text) {
  Drawn drawn{draw_of(number_), number_, {}};
  ++number_;
  const bool full = bytes_ + text.size() > most_bytes_;
  if (full && !kept_.empty() && kept_.front() < drawn) return;
  bytes_ += text.size();
  drawn.text = std::move(text);
  kept_.push_back(std::move(drawn));
  std::push_heap(kept_.begin(), kept_.end());
  while (bytes_ > most_bytes_ && kept_.size() > 1) {
    std::pop_heap(kept_.begin(), kept_.end());
    bytes_ -= kept_.back().text.size();
    kept_.pop_back();
  }
}

std::vector<std::string> TextSample::take() {
  std::ranges::sort(kept_, {}, &Drawn::number);
  std::vector<std::string> texts;
  for (Drawn& drawn : kept_) texts.push_back(std::move(drawn.text));
  kept_.clear();
  return texts;
}

}  // namespace weft
