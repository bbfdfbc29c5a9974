// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/hash.h"
#include "tests/support/scratch.h"

namespace weft::test {

struct Finished {
  int exit = -1;  // 128 + signal where one ended it
  std::string out, err;
};

// The program itself, started in `directory` with these arguments and standard input; with `out` standard output goes
// to that file.
inline Finished run_weft(const fs::path& directory, const std::vector<std::string>& arguments,
                         const std::string& input = "", const std::string& out = "") {
  const Scratch streams;
  const std::string in = streams.write("in", input);
  const pid_t child = fork();
  if (child == 0) {
    const auto open_as = [](const std::string& path, int flags, int as) {
      const int descriptor = open(path.c_str(), flags, 0644);
      if (descriptor < 0 || dup2(descriptor, as) < 0) _exit(126);
    };
    open_as(in, O_RDONLY, STDIN_FILENO);
    open_as(out.empty() ? (streams / "out").string() : out, O_WRONLY | O_CREAT, STDOUT_FILENO);
    open_as((streams / "err").string(), O_WRONLY | O_CREAT, STDERR_FILENO);
    if (chdir(directory.c_str()) != 0) _exit(126);
    setenv("OMP_NUM_THREADS", "1", 1);
    std::vector<char*> words = {const_cast<char*>(WEFT_BINARY)};
    for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execv(WEFT_BINARY, words.data());
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  const auto text = [&](const char* name) {
    return fs::exists(streams / name) ? read_file(streams / name) : std::string();
  };
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), text("out"), text("err")};
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
