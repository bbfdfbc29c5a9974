// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <map>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/hash.h"
#include "tests/support/scratch.h"

namespace weft::test {

struct Finished {
  int exit = -1;  // see exit_of()
  std::string out, err;
};

// The program itself, started in `directory` with these arguments; `streams` become its descriptors 0, 1 and 2.
inline pid_t start_weft(const fs::path& directory, const std::vector<std::string>& arguments,
                        const std::array<int, 3>& streams) {
  const pid_t child = fork();
  if (child != 0) return child;
  for (int as = 0; as < 3; ++as) {
    if (dup2(streams[static_cast<size_t>(as)], as) < 0) _exit(126);
  }
  if (chdir(directory.c_str()) != 0) _exit(126);
  setenv("OMP_NUM_THREADS", "1", 1);
  std::vector<char*> words = {const_cast<char*>(WEFT_BINARY)};
  for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execv(WEFT_BINARY, words.data());
  _exit(127);
}

// The exit code of a program that was started, or 128 + the signal that ended it.
inline int exit_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Runs the program to its end with this standard input; with `out` standard output goes to that file.
inline Finished run_weft(const fs::path& directory, const std::vector<std::string>& arguments,
                         const std::string& input = "", const std::string& out = "") {
  const Scratch files;
  const auto opened = [](const std::string& path, int flags) { return open(path.c_str(), flags | O_CLOEXEC, 0644); };
  const std::array<int, 3> streams = {
      opened(files.write("in", input), O_RDONLY),
      opened(out.empty() ? (files / "out").string() : out, O_WRONLY | O_CREAT),
      opened((files / "err").string(), O_WRONLY | O_CREAT),
  };
  const pid_t child = start_weft(directory, arguments, streams);
  for (const int stream : streams) close(stream);
  const int exit = exit_of(child);
  const auto text = [&](const char* name) {
    return fs::exists(files / name) ? read_file(files / name) : std::string();
  };
  return {exit, text("out"), text("err")};
}

// Every file below a directory with its checksum, and every directory.
inline std::map<std::string, std::string> snapshot(const fs::path& directory) {
  std::map<std::string, std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    const std::string name = fs::relative(entry.path(), directory);
    found[name] = entry.is_regular_file() ? hash_hex(hash64(read_file(entry.path()))) : "not a file";
  }
  return found;
}

inline std::string joined(const std::vector<std::string>& words) {
  std::string text = "weft";
  for (const std::string& word : words) text += " " + word;
  return text;
}

}  // namespace weft::test
