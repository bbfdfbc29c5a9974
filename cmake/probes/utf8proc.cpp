// SPDX-License-Identifier: Apache-2.0
#include <utf8proc.h>
int main() { return utf8proc_codepoint_valid(0x10FFFF) ? 0 : 1; }
