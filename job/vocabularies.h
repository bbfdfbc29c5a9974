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

// The job's prepared training split, checked against the job (job/dataset_checks.h); null if it, or one that is mixed
// with it, is not prepared yet.
std::shared_ptr<const Dataset> prepared_train_split(const JobConfig& job);

// How many ids a tokenizer has, as far as its configuration alone decides that; at most as many for bpe and words,
// which stop early if the text has too few. Nothing if only the text decides.
std::optional<int64_t> stated_vocabulary(const TokenizerConfig& tokenizer);

// The model's vocabularies: the dataset's if there is one, else what the tokenizers' configurations state; nothing if
// one of them is not known. `train` is prepared_train_split(job).
std::optional<Vocabularies> known_vocabularies(const JobConfig& job, const Dataset* train);

}  // namespace weft
