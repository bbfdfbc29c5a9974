// SPDX-License-Identifier: Apache-2.0
// The program writes to a shared console in whole lines.
#include <limits.h>

#include "tests/launch/fixture/commands.h"
#include "tests/support/writes.h"

namespace weft::test {
namespace {

// The texts that a command writes to standard output and standard error, one for each write(2).
std::vector<std::string> writes_of(const fs::path& directory, const std::vector<std::string>& arguments, int exit) {
  Packets packets;
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const pid_t child = start_weft(directory, arguments, {nothing, packets.in(), packets.in()});
  close(nothing);
  const std::vector<std::string> writes = packets.read();
  EXPECT_EQ(exit_of(child), exit) << joined(arguments);
  return writes;
}

TEST_F(Commands, EveryWriteIsOfWholeLinesThatAPipeKeepsTogether) {
  train_both();
  const std::vector<Case> cases = {
      {{"--help"}, 0},
      {{"train", "--help"}, 0},
      {{"--version"}, 0},
      {{"keys"}, 0},
      {{"doctor"}, 0},
      {{"inspect", "run"}, 0},
      {{"inspect", "data", "--show", "3"}, 0},
      {{"validate", "gpt.yaml", "--print"}, 0},
      {{"train", "gpt.yaml", "--set", "run_dir=other"}, 0},
      {{"train", "gpt.yaml", "--set", "model.width=3.5", "--set", "model.heads=none"}, 2},
      {{"evaluate", "gpt.yaml", "--split", "valid"}, 0},
      {{"generate", "--checkpoint", "run", "--prompt", "a", "--n-best", "3"}, 0},
      {{"generate", "--checkpoint", "run", "--prompt", "a", "--candidates", "5"}, 0},
      {{"nothing-such"}, 2},
      {{"train", "--no-such-option"}, 2},
  };
  for (const Case& c : cases) {
    const std::vector<std::string> writes = writes_of(scratch_.path(), c.arguments, c.exit);
    EXPECT_FALSE(writes.empty()) << joined(c.arguments);
    for (const std::string& text : writes) {
      EXPECT_TRUE(text.ends_with('\n')) << joined(c.arguments) << "\n" << text;
      EXPECT_LE(text.size(), size_t{PIPE_BUF}) << joined(c.arguments);
    }
  }
}

}  // namespace
}  // namespace weft::test
