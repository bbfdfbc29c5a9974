// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "data/text/normal_form.h"
#include "data/tokenizer/bpe/vocabulary.h"
#include "data/tokenizer/pretokenizer.h"
#include "data/tokenizer/unigram/charsmap.h"

namespace weft {

// The steps that change a text before it is cut, as Hugging Face's tokenizers do them. Bytes that are not valid UTF-8
// stay as they are.
struct ReplaceText {
  std::string text, by;  // `text` is not empty
};
struct ReplaceBlankRuns {
  std::string by;  // for each run of two blanks or more
};
struct StripSpace {
  bool left = false, right = false;  // Unicode's White_Space
};
struct PutBefore {
  std::string text;  // before a text that is not empty
};
struct LowerCase {};  // character by character, without regard to the neighbours
struct DropMarks {};  // \p{M}
// A CharsMap is applied to each grapheme cluster of fewer than 6 bytes, else to its characters one by one. The table
// is asked for the shortest beginning that it has, and what it has stands for the whole cluster.
using TextStep =
    std::variant<CharsMap, ReplaceText, ReplaceBlankRuns, StripSpace, PutBefore, LowerCase, DropMarks, NormalForm>;

// Blanks become U+2581, and one is put before a text, or before each word, as `prefix` says.
struct BlankRule {
  BlankPrefix prefix = BlankPrefix::Never;  // not Always
  bool cuts = true;                         // before each blank
};

// How a text becomes the stretches that a unigram model splits into pieces.
struct TextRule {
  std::vector<TextStep> steps;
  bool cuts_at_space = false;  // before `blanks` apply: words between White_Space, which is dropped
  std::optional<BlankRule> blanks;

  std::string changed(std::string_view text) const;  // by the steps
  // Calls sink(stretch) for the stretches of a text that the steps have changed; none is empty. `begins`: no other
  // token stands before the text.
  template <class Sink>
  void cut(std::string_view text, bool begins, Sink&& sink) const;
  bool puts_blank() const;     // before some texts
  double most_growth() const;  // no text becomes longer by more than this factor through the steps

 private:
  std::string with_blank_signs(std::string_view text, bool begins) const;
};

template <class Sink>
void TextRule::cut(std::string_view text, bool begins, Sink&& sink) const {
  const auto cut_at_blanks = [&](std::string_view part) {
    if (!blanks) return sink(part);
    const std::string written = with_blank_signs(part, begins);
    if (!blanks->cuts) return sink(std::string_view(written));
    Pretokenizer(Pretokenizer::Rule::Blanks).for_each(written, sink);
  };
  if (text.empty()) return;
  if (!cuts_at_space) return cut_at_blanks(text);
  Pretokenizer(Pretokenizer::Rule::Words).for_each(text, cut_at_blanks);
}

}  // namespace weft
