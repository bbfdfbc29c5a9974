// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>

#include "kernels/context.h"
#include "kernels/device/products.h"

// How a device computes matrix products, and the texts by which one process passes its choices to another. The CPU has
// no choices.
namespace weft {

// Call it before the first product.
void set_products(Context& context, const ProductOptions& options);

// The algorithms measured so far, as a text for take_tuned() in another process; "" if there are none.
std::string tuned(Context& context);

// Adopts the algorithms of a text from tuned(), for shapes that have none yet. Ignores, with a logged line, those that
// were measured on another device or with another library. DataError, which begins with `from`, for any other text.
void take_tuned(Context& context, const std::string& text, const std::string& from);

// If several ranks measure, each may find a different algorithm the fastest, and one rank may meet a shape before
// others do. newly_tuned() returns what this device has measured since the last agree_tuned(), as a text; "" if
// nothing. agree_tuned() takes the texts of all ranks, in the same order on each, and adopts for every shape the
// algorithm of the first text that has the shape, so that all ranks compute alike. It ignores texts from another device
// or another library, so ranks of one kind agree among themselves, and returns how many it ignored. DataError if a text
// is not from newly_tuned().
std::string newly_tuned(Context& context);
int agree_tuned(Context& context, std::span<const std::string> texts);

}  // namespace weft
