// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset/dataset.h"
#include "data/tokenizer/tokenizer.h"
#include "generate/search/config.h"
#include "job/job.h"
#include "metrics/bleu.h"
#include "model/transformer.h"

namespace weft {

struct BleuReport {
  double score = 0;  // 0 to 100
  std::string signature;
  int64_t pairs = 0;
  double seconds = 0;
  bool given_up = false;  // the score is of no use
};

// BLEU of a model on the validation split while it learns, as evaluation.bleu of its job says: what `weft evaluate`
// finds with the same search, pairs and options of BLEU.
class BleuEvaluation {
 public:
  // The job must outlive it. Reads the references, which the split must hold (check_validation_bleu).
  BleuEvaluation(const JobConfig& job, std::shared_ptr<const Dataset> valid);
  // Collective over the model's mesh: replicas share the pairs, and the report is the same on every rank. `give_up` is
  // asked on all ranks alike, before every other batch of pairs; it must say the same to all.
  BleuReport measure(Transformer& model, const std::function<bool()>& give_up = {}) const;

 private:
  const JobConfig& job_;
  SearchConfig search_;
  BleuConfig bleu_;
  std::shared_ptr<const Dataset> valid_;
  std::shared_ptr<const Tokenizer> source_, target_;
  std::vector<std::vector<std::string>> references_;  // one stream of them
};

}  // namespace weft
