#include <fmt/format.h>
int main() { return fmt::format("{}", 1) != "1"; }
