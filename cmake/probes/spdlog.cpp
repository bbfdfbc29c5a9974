// SPDX-License-Identifier: Apache-2.0
#include <spdlog/version.h>
int main() { return SPDLOG_VERSION < 10000; }
