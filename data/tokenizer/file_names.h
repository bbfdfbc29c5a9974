// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft {

// The names of weft's tokenizer files: beside a dataset's shards, in a checkpoint, in an exported model.
inline constexpr const char* kTokenizerFile = "tokenizer.json";  // in a dataset whose sides share it
inline constexpr const char* kSourceTokenizerFile = "source-tokenizer.json";
inline constexpr const char* kTargetTokenizerFile = "target-tokenizer.json";

}  // namespace weft
