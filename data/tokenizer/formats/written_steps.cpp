// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/formats/written_steps.h"

#include "data/tokenizer/pretokenizer_scan.h"

namespace weft {

using Steps = nlohmann::ordered_json;

Steps sequence_of(const Steps& steps, const char* name) {
  if (steps.size() < 2) return steps.empty() ? Steps() : steps[0];
  return {{"type", "Sequence"}, {name, steps}};
}

Steps replace_step(const Steps& pattern, std::string_view by) {
  return {{"type", "Replace"}, {"pattern", pattern}, {"content", by}};
}

Steps metaspace_step(BlankPrefix prefix, bool splits) {
  const char* scheme = prefix == BlankPrefix::Never ? "never" : prefix == BlankPrefix::IfMissing ? "always" : "first";
  return {{"type", "Metaspace"}, {"replacement", kBlankSign}, {"prepend_scheme", scheme}, {"split", splits}};
}

Steps decoder_of_pieces(bool puts_blank) {
  Steps steps =
      Steps::array({replace_step({{"String", kBlankSign}}, " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}});
  if (puts_blank) steps.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  return sequence_of(steps, "decoders");
}

}  // namespace weft
