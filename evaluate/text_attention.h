// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "evaluate/alignment.h"
#include "evaluate/attention_maps.h"

namespace weft {

// The attention of a text, with what was asked.
struct TextAttention {
  std::string model;         // the checkpoint's path
  std::string source, text;  // source: of a translation, which is `text`
  AttentionMaps maps;
  // Of a translation that has tokens:
  std::vector<ScoredHead> heads;
  std::optional<Alignment> alignment;
};

struct AttentionQuestion {
  std::string text;
  std::optional<std::string> translation;  // of the text; if absent the model's own (beam search)
  std::optional<AlignmentHead> head;       // that aligns; if absent the one that aligns best
  int64_t most_weights = 0;                // of all layers and heads together; a text with more is a DataError
};

// Runs a language model over a text, or a translation model over a source and its translation. ConfigError if the
// question does not suit the model, DataError if a text does not fit it. For one process.
TextAttention text_attention(const LoadedModel& loaded, const AttentionQuestion& question);

// Aligns the lines of a text with their translations, by one head: the one that is given, or the one that aligns the
// first lines best, at most kTrialLines of those that come together first. Where the model's axis tp has one rank.
class LineAligner {
 public:
  static constexpr size_t kTrialLines = 20;
  explicit LineAligner(const LoadedModel& loaded, std::optional<AlignmentHead> head = {})
      : loaded_(loaded), head_(head) {}
  // The alignments of some lines and the tokens of their translations. A blank line has no links.
  std::vector<Links> align(const std::vector<std::string>& lines,
                           const std::vector<std::vector<int32_t>>& translations);
  // Absent while no line had a translation.
  const std::optional<AlignmentHead>& head() const { return head_; }

 private:
  struct Pair;
  void choose_head(const std::vector<Pair>& pairs);

  const LoadedModel& loaded_;
  std::optional<AlignmentHead> head_;
};

}  // namespace weft
