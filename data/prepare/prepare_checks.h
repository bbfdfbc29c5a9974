// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "data/prepare/records/split.h"
#include "data/prepare/text_job.h"
#include "data/tokenizer/tokenizer.h"

namespace weft {

// ConfigError if documents would run together: they are several, not whole files, and have no eos to separate them.
void check_documents_are_kept_apart(const DataConfig& data, const Tokenizer& tokenizer, Corpus& corpus);

// DataError if preparation would write over one of its inputs, or over a manifest, a tokenizer or a shard that weft did
// not write. A tokenizer file that is written again as it is may be in the directory.
void check_nothing_is_overwritten(const TextJob& job, const std::vector<PrepareInput>& inputs);

}  // namespace weft
