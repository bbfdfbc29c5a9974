// SPDX-License-Identifier: Apache-2.0
#include "generate/text_stream.h"

#include <algorithm>

#include "base/text/utf8.h"

namespace weft {
namespace {

// Bytes of the text before a last character that further bytes may complete.
size_t whole_characters(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    const char* at = text.data() + text.size() - back;
    const Utf8Lead lead = utf8_lead(static_cast<uint8_t>(*at));
    if (lead.length > back && utf8_matched(at, text.data() + text.size(), lead) == back) return text.size() - back;
  }
  return text.size();
}

// Bytes of the text before an end that may be the beginning of a stop string.
size_t before_stop(std::string_view text, std::span<const std::string> stop_strings) {
  size_t end = text.size();
  for (const std::string& stop : stop_strings) {
    for (size_t held = std::min(stop.size() - 1, text.size()); held > 0; --held) {
      if (!text.ends_with(std::string_view(stop).substr(0, held))) continue;
      end = std::min(end, text.size() - held);
      break;
    }
  }
  return end;
}

}  // namespace

size_t first_stop(std::string_view text, std::span<const std::string> stop_strings) {
  size_t first = std::string_view::npos;
  for (const std::string& stop : stop_strings) first = std::min(first, text.find(stop));
  return first;
}

bool ends_in_stop(const Tokenizer& tokenizer, std::span<const int32_t> tokens,
                  std::span<const std::string> stop_strings) {
  size_t longest = 0;
  for (const std::string& stop : stop_strings) longest = std::max(longest, stop.size());
  if (longest == 0 || tokens.empty()) return false;
  // Decode the last token and, before it, enough tokens for all but one byte of the longest stop string.
  const size_t last = tokenizer.decode(tokens.last(1), {.continues = true}).size();
  for (size_t count = std::min(tokens.size(), longest + 1);; count = std::min(tokens.size(), 2 * count)) {
    const std::string tail = tokenizer.decode(tokens.last(count), {.continues = true});
    if (count < tokens.size() && tail.size() < last + longest - 1) continue;
    return first_stop(tail, stop_strings) != std::string::npos;
  }
}

std::string TextStream::grow(std::span<const int32_t> tokens) {
  const std::string text = tokenizer_.decode(tokens, {.continues = true});
  const size_t end = std::min(whole_characters(text), before_stop(text, stop_strings_));
  if (end <= shown_) return {};
  const std::string piece = text.substr(shown_, end - shown_);
  shown_ = end;
  return piece;
}

std::string TextStream::finish(std::string_view text) {
  return std::string(text.substr(std::min(shown_, text.size())));
}

}  // namespace weft
