// SPDX-License-Identifier: Apache-2.0
#include "launch/alignment_file.h"

#include "base/error.h"
#include "base/log.h"
#include "evaluate/attention_files.h"

namespace weft {

void AlignmentArguments::add_to(Command& command) {
  Option option = command
                      .add_option("--alignment", file,
                                  "File to write: which words of each line and its best translation belong together, "
                                  "in Moses form (0-0 1-2), a line each")
                      .type_name("FILE");
  command
      .add_option("--alignment-head", head,
                  "The head of cross-attention that aligns, LAYER:HEAD:predicted or LAYER:HEAD:read; without it the "
                  "one that aligns the first lines best")
      .type_name("HEAD")
      .needs(option);
}

void AlignmentArguments::check(const MeshLayout& replica) const {
  if (file.empty()) return;
  if (!head.empty()) alignment_head(head);
  require<ConfigError>(replica.tp == 1, "--alignment: no rank has all heads with --tp {}; leave --tp out", replica.tp);
  require_free(file);
}

AlignmentFile::AlignmentFile(const AlignmentArguments& arguments, const LoadedModel& loaded)
    : file_(arguments.file),
      aligner_(loaded, arguments.head.empty() ? std::nullopt : std::optional(alignment_head(arguments.head))) {}

void AlignmentFile::add(const LineBatch& batch, const std::vector<NBest>& found) {
  if (file_.empty()) return;
  std::vector<std::vector<int32_t>> translations;
  for (const NBest& best : found) translations.push_back(best.at(0).tokens);
  for (const Links& links : aligner_.align(batch.lines, translations)) text_ += moses_line(links) + "\n";
}

void AlignmentFile::commit() {
  if (file_.empty()) return;
  require_free(file_);
  write_file_atomically(file_, text_);
  if (aligner_.head()) log_info("wrote {}, aligned by head {}", file_, text_of(*aligner_.head()));
}

}  // namespace weft
