// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "data/chat/template.h"

namespace weft {

// The templates that have a name.
ChatTemplate known_template(ChatTemplateName name);

}  // namespace weft
