// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/unicode_letters.h"

namespace weft {

#include "data/tokenizer/unicode_letters.inc"

}  // namespace weft
