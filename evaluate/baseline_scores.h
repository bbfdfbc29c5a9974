// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "data/dataset/dataset.h"
#include "data/tokenizer/tokenizer.h"
#include "metrics/bleu.h"

namespace weft {

struct BaselineScore {
  std::string name;
  BleuScore bleu;
};

struct BaselineArgs {
  const Dataset& train;
  const Tokenizer& source_tokenizer;
  const Tokenizer& target_tokenizer;
  std::vector<std::string> sources;     // texts to translate
  std::vector<std::string> references;  // their translations
  const BleuConfig& bleu;
};

// BLEU of the translators of data/sample/baselines.h that know the training split.
std::vector<BaselineScore> score_baselines(const BaselineArgs& args);

// The texts of the first `pairs` pairs of a dataset, without specials.
std::vector<std::string> source_texts(const Dataset& dataset, const Tokenizer& tokenizer, int64_t pairs);
std::vector<std::string> target_texts(const Dataset& dataset, const Tokenizer& tokenizer, int64_t pairs);

}  // namespace weft
