// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "evaluate/attention_maps.h"
#include "generate/text_generator.h"

namespace weft {

// A decoder reads one token of a translation where it predicts the next one: a head of cross-attention may look for
// the source of either (Chen et al., "Accurate word alignment induction from neural machine translation", 2020).
enum class AlignedToken : uint8_t { Predicted, Read };
template <>
struct EnumNames<AlignedToken> {
  static constexpr auto kNames = enum_names<AlignedToken>("predicted", "read");
};

// A head of cross-attention, and which token its rows are taken to align.
struct AlignmentHead {
  int layer = 0;
  int64_t head = 0;
  AlignedToken token = AlignedToken::Predicted;
  bool operator==(const AlignmentHead&) const = default;
};
// "LAYER:HEAD:predicted" or "LAYER:HEAD:read". ConfigError for any other text.
std::string text_of(const AlignmentHead& head);
AlignmentHead alignment_head(const std::string& text);

// How much each token of a translation depends on each token of its source: f64 [translation, source],
//   max(0, log P(y_j | x, y_<j) - log P(y_j | x without x_i, y_<j)), 0 for the specials of a source,
// "prediction difference" of Li et al., "On the word alignment from neural machine translation" (2019), who blank a
// token where this leaves it out.
std::vector<double> source_importance(const TextGenerator& generator, const std::vector<int32_t>& source,
                                      const std::vector<int32_t>& translation);

// A head's score for a text is the share of its weights that lies where the prediction depends on: the mean over the
// tokens of the translation of sum_i w[j][i] d[j][i] / sum_i d[j][i], d from source_importance(). It is in [0, 1].
struct ScoredHead {
  AlignmentHead head;
  double score = 0;
};
// Of all heads of cross-attention, by layer, head and token; the same order for every text of a model.
std::vector<ScoredHead> scored_heads(const AttentionMaps& maps, const std::vector<double>& importance);
const ScoredHead& best_of(const std::vector<ScoredHead>& heads);  // the first of equals

// Indices from 0 of a source and of its translation, ascending by the source.
using Links = std::vector<std::pair<int64_t, int64_t>>;
std::string moses_line(const Links& links);  // "0-0 1-2", as Moses and fast_align write alignments

// The words of a text are what stands between blanks in it.
struct Words {
  std::vector<std::string> words;
  std::vector<int64_t> of_token;  // the word that a token is part of; -1 for a special and for blanks alone
};
Words words_of(const Tokenizer& tokenizer, std::span<const int32_t> tokens);

// Each token of a translation is linked to the token of the source with the head's largest weight, unless that is a
// special. Words are linked if tokens of them are.
struct Alignment {
  AlignmentHead head;
  Links tokens;  // in `maps.source`, and in `maps.text` without its start token
  Words source, translation;
  Links words;
};
// ConfigError if the model has no such head.
Alignment aligned(const LoadedModel& loaded, const AttentionMaps& maps, const AlignmentHead& head);

}  // namespace weft
