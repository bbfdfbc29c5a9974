// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/text_job.h"

#include "base/error.h"

namespace weft {

void TextJob::check() const {
  data.check();
  if (data.tokenizer_file.empty()) tokenizer.check();
  if (!target_tokenizer) return;
  require<ConfigError>(data.is_translation(), "target_tokenizer: format {} has one side only", enum_name(data.format));
  target_tokenizer->check();
}

}  // namespace weft
