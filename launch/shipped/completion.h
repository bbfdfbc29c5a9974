// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace CLI {
class App;
}

namespace weft {

// The type of an argument that names a job of `weft jobs`: a shell asks the program for the names.
inline constexpr const char* kJobName = "JOB-NAME";

// Scripts that complete the program's command line, from the definitions that also print the help. A word that is no
// command, option or listed value is completed as the name of a file.
std::string bash_completion(const CLI::App& program);
std::string zsh_completion(const CLI::App& program);

}  // namespace weft
