// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
int main() { return fmt::format("{}", 1) != "1"; }
