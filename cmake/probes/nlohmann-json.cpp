#include <nlohmann/json_fwd.hpp>
int main() {}
