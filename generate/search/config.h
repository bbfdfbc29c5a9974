// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/config/fields.h"

namespace weft {

enum class SearchMethod { Beam, Greedy, Sample };
template <>
struct EnumNames<SearchMethod> {
  static constexpr auto kNames = enum_names<SearchMethod>("beam", "greedy", "sample");
};

// The divisor of a hypothesis's log-probability. len counts generated tokens, the end token included.
enum class PenaltyForm {
  Power,  // len^alpha: alpha 1 is the mean log-probability of a token
  Gnmt,   // ((5 + len) / 6)^alpha (Wu et al., "Google's neural machine translation system", 2016, eq. 14)
};
template <>
struct EnumNames<PenaltyForm> {
  static constexpr auto kNames = enum_names<PenaltyForm>("power", "gnmt");
};

// The condition under which beam search finishes a sentence before every hypothesis has ended.
enum class StopRule {
  Full,   // as soon as `beam` hypotheses have ended
  Bound,  // once no living hypothesis can still become better than the worst of the best `beam` that have ended
};
template <>
struct EnumNames<StopRule> {
  static constexpr auto kNames = enum_names<StopRule>("full", "bound");
};

struct SearchConfig {
  SearchMethod method = SearchMethod::Beam;
  int64_t beam = 5;
  int64_t n_best = 1;
  double length_penalty = 1.0;
  PenaltyForm penalty_form = PenaltyForm::Power;
  StopRule stop = StopRule::Full;
  double temperature = 1.0;
  int64_t top_k = 0;
  double top_p = 1.0;
  int64_t seed = 1;
  int64_t no_repeat_ngram = 0;
  double repetition_penalty = 1.0;
  int64_t min_length = 0;
  std::vector<std::string> stop_strings;
  double max_length_factor = 2.0;
  int64_t max_length_extra = 50;
  int64_t batch_sentences = 64;
  int64_t batch_tokens = 16384;

  template <class Visitor>
  void fields(Visitor& v) {
    v.field("method", method, "beam keeps the best hypotheses, greedy the best token, sample draws.");
    v.field("beam", beam, "Hypotheses that beam search keeps alive.", Range{.min = 1});
    v.field("n_best", n_best, "Texts to return for each input: of the beam the best, or independent samples.",
            Range{.min = 1});
    v.field("length_penalty", length_penalty, "alpha of the length penalty; 0 compares plain log-probabilities.",
            Range{.min = 0});
    v.field("penalty_form", penalty_form, "score / len^alpha (power) or score / ((5 + len) / 6)^alpha (gnmt).");
    v.field("stop", stop, "Beam search stops when `beam` texts have ended (full) or none can improve (bound).");
    v.field("temperature", temperature, "Sampling: logits are divided by it; 0 takes the most probable token.",
            Range{.min = 0});
    v.field("top_k", top_k, "Sampling: draw among the k most probable tokens; 0 means all.", Range{.min = 0});
    v.field("top_p", top_p, "Sampling: draw among the most probable tokens that together reach this probability.",
            Range{.min = 0, .max = 1});
    v.field("seed", seed, "Sampling: same seed, same texts, whatever the batches.", Range{.min = 0});
    v.field("no_repeat_ngram", no_repeat_ngram, "No n-gram of this length occurs twice in a text; 0 means no rule.",
            Range{.min = 0});
    v.field(
        "repetition_penalty", repetition_penalty,
        "Scores of tokens that prompt or text hold already are divided by it where they are positive, and multiplied "
        "where not; 1 means no rule.",
        Range{.min = 1e-3, .max = 1e3});
    v.field("min_length", min_length, "Tokens before a text may end.", Range{.min = 0});
    v.field("stop_strings", stop_strings, "A text ends before the first of these.");
    v.field("max_length_factor", max_length_factor,
            "A text has at most factor x source tokens + extra tokens, rounded down, the end tokens of both counted.",
            Range{.min = 0});
    v.field("max_length_extra", max_length_extra, "See max_length_factor; without a source it is the limit.",
            Range{.min = 0});
    v.field("batch_sentences", batch_sentences, "Inputs decoded together at most.", Range{.min = 1});
    v.field("batch_tokens", batch_tokens, "Texts x longest input in tokens, decoded together at most.",
            Range{.min = 1});
  }
};

// Throws ConfigError if fields do not fit each other or lie outside their ranges.
void check(const SearchConfig& config);

// The log-probability divided by the length penalty. Hypotheses are ranked by it, largest first. `length` counts the
// end token; a text of length 0 scores 0.
double length_normalized(const SearchConfig& config, double log_probability, int64_t length);

}  // namespace weft
