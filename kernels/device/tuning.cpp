// SPDX-License-Identifier: Apache-2.0
#include "kernels/device/tuning.h"

#include "kernels/backend/backend.h"

namespace weft {

void set_products(Context& context, const ProductOptions& options) { context.backend().set_products(options); }

std::string tuned(Context& context) { return context.backend().tuned(); }

void take_tuned(Context& context, const std::string& text, const std::string& from) {
  context.backend().take_tuned(text, from);
}

std::string newly_tuned(Context& context) { return context.backend().newly_tuned(); }

int agree_tuned(Context& context, std::span<const std::string> texts) { return context.backend().agree_tuned(texts); }

}  // namespace weft
