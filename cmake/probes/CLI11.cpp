// SPDX-License-Identifier: Apache-2.0
#include <CLI/Version.hpp>
int main() { return CLI11_VERSION_MAJOR < 2; }
