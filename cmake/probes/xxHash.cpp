// SPDX-License-Identifier: Apache-2.0
#include <xxhash.h>
int main() { return XXH3_64bits(nullptr, 0) == 0; }
