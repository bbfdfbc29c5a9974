// SPDX-License-Identifier: Apache-2.0
#include <zstd.h>
int main() { return ZSTD_versionNumber() == 0; }
