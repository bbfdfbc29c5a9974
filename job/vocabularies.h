// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>

#include "data/dataset/dataset.h"
#include "job/job.h"
#include "model/config.h"

namespace weft {

Vocabularies vocabularies_of(const DatasetHeader& header);

// The job's prepared training split, checked against the job (job/dataset_checks.h); null if it, or a dataset that is
// mixed with it, is not prepared yet.
std::shared_ptr<const Dataset> prepared_train_split(const JobConfig& job);

// The number of ids of a tokenizer, if its configuration alone decides it; an upper bound for bpe and words, which stop
// early if the text has too few. nullopt if only the text decides.
std::optional<int64_t> stated_vocabulary(const TokenizerConfig& tokenizer);

// The model's vocabularies: the dataset's if there is one, else what the tokenizers' configurations state; nullopt if
// one of them is not known. `train` is prepared_train_split(job).
std::optional<Vocabularies> known_vocabularies(const JobConfig& job, const Dataset* train);

}  // namespace weft
