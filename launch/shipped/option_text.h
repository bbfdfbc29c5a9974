// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace weft {

// The options and arguments of a command that its help shows, in its order.
std::vector<const CLI::Option*> visible_options(const CLI::App& command);

// "-h,--help", or an argument's name.
std::string names_of(const CLI::Option& option);

// " DEVICE:{auto,cpu,cuda}" for an option with a value, "" for a flag.
std::string value_of(const CLI::Option& option);

// The values that an option takes, if its help lists them: auto, cpu, cuda.
std::vector<std::string> choices_of(const CLI::Option& option);

}  // namespace weft
