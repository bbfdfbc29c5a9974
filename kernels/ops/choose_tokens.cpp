// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/choose_tokens.h"

#include "kernels/backend/dispatch.h"
#include "kernels/checks.h"

namespace weft {

void choose_tokens(Context& context, const ChooseTokens& args) {
  const Checks check(context, "choose_tokens");
  check.present("logits", args.logits);
  check.present("rows", args.rules.rows);
  const int64_t vocabulary = args.logits.columns(), texts = args.rules.rows.elements();
  check.matrix("logits", args.logits, args.logits.rows(), vocabulary, DType::F32);
  check.vector("rows", args.rules.rows, texts, DType::I32);
  check.vector("blocked_begins", args.rules.blocked_begins, texts + 1, DType::I32);
  check.vector("repeated_begins", args.rules.repeated_begins, texts + 1, DType::I32);
  check.vector("blocked", args.rules.blocked, args.rules.blocked.elements(), DType::I32);
  check.vector("repeated", args.rules.repeated, args.rules.repeated.elements(), DType::I32);
  check.that(args.count >= 1 && args.count <= vocabulary, "{} tokens of {}", args.count, vocabulary);
  check.that(args.penalty > 0 && args.scale > 0, "penalty {} and scale {}", args.penalty, args.scale);
  if (args.uniforms) {
    check.vector("uniforms", args.uniforms, texts, DType::F64);
    check.that(args.count == 1, "uniforms draw one token, not {}", args.count);
  }
  check.matrix("out", args.out, texts, 2 + 3 * args.count, DType::F64);
  const auto elements = static_cast<double>(texts * vocabulary);
  const int sums = args.masses || args.uniforms ? 2 : 1;
  dispatch(context, {"choose_tokens", OperationKind::Memory, 3 * sums * elements, 4 * elements + bytes_of({args.out})},
           args);
}

}  // namespace weft
