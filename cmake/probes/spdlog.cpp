#include <spdlog/version.h>
int main() { return SPDLOG_VERSION < 10000; }
