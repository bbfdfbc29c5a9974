#pragma once
#include <optional>
#include <string>
#include <vector>

#include "evaluate/baseline_scores.h"
#include "evaluate/loaded_model.h"
#include "evaluate/metrics/bleu.h"
#include "evaluate/metrics/chrf.h"
#include "evaluate/search/config.h"

namespace weft {

struct TranslationOptions {
  SearchConfig search;
  BleuConfig bleu;
  fs::path output;         // file for the translations, a line each; empty: none
  bool baselines = false;  // also score translators that only look things up (evaluate/baseline_scores.h)
};

struct TranslationScores {
  BleuScore bleu;
  ChrfScore chrf;
  int64_t pairs = 0;
  int64_t cut_sources = 0;  // that had more tokens than the model has positions: translated up to there
  // The references are text as the file had it; false: made of tokens, where the dataset has none (version 1, train).
  bool raw_references = true;
  std::vector<BaselineScore> baselines;  // on rank 0, if they were asked for
};

// Translations of source sentences (token ids as preparation stores them) in their order, the same on every rank.
// Collective over dp: every rank decodes its share, and a text does not depend on who decodes it. `show_progress`:
// this rank prints how far its share is.
std::vector<std::string> translate_sentences(const LoadedModel& loaded,
                                             const std::vector<std::vector<int32_t>>& sources,
                                             const SearchConfig& search, bool show_progress);

// Translates the first `pairs` pairs of a split and scores the translations against the text of its targets. A source
// that is too long for the model is cut, an empty one has an empty translation: every pair is scored, and has a line of
// options.output (line ends within a translation become spaces). Collective over the mesh; rank 0 writes the file. The
// baselines are left to split_baselines().
TranslationScores score_translations(const LoadedModel& loaded, const Dataset& split, int64_t pairs,
                                     const TranslationOptions& options);

// BLEU of the baselines on the same pairs. Not collective: one rank computes them alone, for as long as it takes.
std::vector<BaselineScore> split_baselines(const LoadedModel& loaded, const Dataset& split, int64_t pairs,
                                           const BleuConfig& bleu);

}  // namespace weft
