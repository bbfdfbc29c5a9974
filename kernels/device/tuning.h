// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>

#include "kernels/context.h"
#include "kernels/device/products.h"

// What a device may choose of how it computes matrix products, and how one process tells another what it chose. The CPU
// chooses nothing.
namespace weft {

// Before the first product.
void set_products(Context& context, const ProductOptions& options);

// The algorithms that have been measured so far, as a text that take_tuned() of another process understands; "" if
// there are none.
std::string tuned(Context& context);

// Takes over what tuned() said elsewhere, for shapes that have no algorithm yet; what was measured on another device or
// with another library is left, and a line says so. DataError, which begins with `from`, if it is no such text.
void take_tuned(Context& context, const std::string& text, const std::string& from);

// Where several ranks measure, each may find another one the fastest, and one rank may meet a shape before others do.
// newly_tuned() is what this device has measured since the last agree_tuned(), as a text; "" if nothing. agree_tuned(),
// given the texts of all ranks in one order, puts in its place what the first of them says that has the shape: then all
// ranks compute alike. What was measured on another device or with another library is left: ranks of one kind agree
// among themselves. Says how many texts were left. DataError if one is no such text.
std::string newly_tuned(Context& context);
int agree_tuned(Context& context, std::span<const std::string> texts);

}  // namespace weft
