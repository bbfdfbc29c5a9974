// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/files.h"

namespace weft {

// The files that one name of a job stands for, sorted, each once:
//  - the file of that name, even if it looks like a pattern; or a pipe;
//  - all files in the directory of that name and in the directories below it;
//  - else a pattern as shells have it: * and ? match within a name, [a-c] one of its characters, ** any number of
//    directories. A directory that matches stands for its files.
// Names that begin with a dot are found only by patterns that do; links to directories are not followed. DataError if
// no file is found, or a directory cannot be listed.
std::vector<fs::path> files_named(const std::string& name);

}  // namespace weft
