// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/attachments.h"

#include <algorithm>

#include "data/tokenizer/file_names.h"

namespace weft {

bool has_attachment(const CheckpointManifest& manifest, std::string_view name) {
  return std::ranges::find(manifest.attachments, name, &CheckpointAttachment::name) != manifest.attachments.end();
}

std::vector<std::pair<std::string, std::string>> tokenizer_attachments(const Tokenizer& source,
                                                                       const Tokenizer& target) {
  return {{kSourceTokenizerFile, source.to_json()}, {kTargetTokenizerFile, target.to_json()}};
}

}  // namespace weft
