// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

// Everything that weft prints goes through here: several processes and threads share a console, and a launcher cuts
// what they write into lines of its own.
namespace weft {

// Writes `text` without cutting a line: each write(2) is as many whole lines as fit into PIPE_BUF (4096 bytes), and a
// pipe keeps a write of that size in one piece. A longer line is one write too, but other writers to the same pipe may
// print in the middle of it. False, with errno set, if a write fails; the rest is then not written.
bool write_lines(int file, std::string_view text);

// `text` as a terminal may have it: control characters, which come from files and models, could clear it, fill a
// clipboard or fake a prompt. Each of them, and each byte that is not UTF-8, is spelt out: \x1b. Line ends and tabs
// stay.
std::string printable(std::string_view text);

// Writes to standard output in the same way, as it is: it may look like a terminal under mpirun and be a file.
// DataError if a write fails.
void print(std::string_view text);

}  // namespace weft
