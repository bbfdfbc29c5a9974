// SPDX-License-Identifier: Apache-2.0
#define SPDLOG_FMT_EXTERNAL 1
#include <spdlog/spdlog.h>
int main() { return SPDLOG_VERSION < 10000; }
