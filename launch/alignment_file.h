// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "evaluate/text_attention.h"
#include "generate/line_translation.h"
#include "launch/command_line/command.h"
#include "parallel/mesh_layout.h"

namespace weft {

// The options of translate for alignments.
struct AlignmentArguments {
  std::string file, head;

  void add_to(Command& command);
  // ConfigError if the options do not fit, DataError if the file is there already.
  void check(const MeshLayout& replica) const;
};

// The alignments of lines and their best translations, a line each in Moses form; nothing if no file was asked for.
class AlignmentFile {
 public:
  AlignmentFile(const AlignmentArguments& arguments, const LoadedModel& loaded);
  void add(const LineBatch& batch, const std::vector<NBest>& found);
  void commit();  // writes the file

 private:
  std::string file_, text_;
  LineAligner aligner_;
};

}  // namespace weft
