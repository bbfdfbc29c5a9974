#pragma once
#include <string>

#include "kernels/context.h"
#include "kernels/products.h"

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

}  // namespace weft
