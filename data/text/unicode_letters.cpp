// SPDX-License-Identifier: Apache-2.0
#include "data/text/unicode_letters.h"

namespace weft {

#include "data/text/unicode_letters.inc"

}  // namespace weft
