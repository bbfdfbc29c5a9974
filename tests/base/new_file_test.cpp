// SPDX-License-Identifier: Apache-2.0
#include "base/files/new_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;

class NewFiles : public testing::Test {
 protected:
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(scratch_.path())) all.push_back(entry.path().filename());
    return all;
  }
  // A process that is killed between the write and the commit.
  void be_killed_while_writing(const fs::path& path) {
    const pid_t child = fork();
    if (child == 0) {
      NewFile made(path);
      made.file().append("half");
      _exit(0);
    }
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
  }
  Scratch scratch_;
};

TEST_F(NewFiles, HaveNoNameBeforeTheyAreWhole) {
  scratch_.write("a", "old");
  {
    NewFile made(scratch_ / "a");
    made.file().append("new");
    EXPECT_EQ(read_file(scratch_ / "a"), "old");
  }
  EXPECT_THAT(names(), testing::ElementsAre("a"));
  NewFile made(scratch_ / "a");
  made.file().append("new");
  made.commit();
  EXPECT_EQ(read_file(scratch_ / "a"), "new");
  EXPECT_THAT(names(), testing::ElementsAre("a"));
}

TEST_F(NewFiles, HaveTheRightsOfOtherFiles) {
  write_file_atomically(scratch_ / "a", "text");
  const mode_t mask = umask(0);
  umask(mask);
  EXPECT_EQ(static_cast<mode_t>(fs::status(scratch_ / "a").permissions()), 0644 & ~mask);
}

TEST_F(NewFiles, ReplaceALinkAndNotWhatItNames) {
  const fs::path theirs = scratch_.write("theirs", "text");
  for (const char* name : {"a", "a.tmp", ".a.weft-00000000"}) fs::create_symlink(theirs, scratch_ / name);
  write_file_atomically(scratch_ / "a", "new");
  EXPECT_EQ(read_file(scratch_ / "a"), "new");
  EXPECT_EQ(read_file(theirs), "text");
  EXPECT_THAT(names(), testing::UnorderedElementsAre("a", "a.tmp", ".a.weft-00000000", "theirs"));
}

TEST_F(NewFiles, RemoveWhatAKilledOneLeft) {
  be_killed_while_writing(scratch_ / "a");
  ASSERT_EQ(names().size(), 1u);
  { const NewFile other(scratch_ / "b"); }
  EXPECT_EQ(names().size(), 1u);
  write_file_atomically(scratch_ / "a", "text");
  EXPECT_THAT(names(), testing::ElementsAre("a"));
}

TEST_F(NewFiles, LeaveWhatIsStillWrittenAndWhatIsNotTheirs) {
  scratch_.write("a.tmp", "thesis");
  scratch_.write(".a.weft-notebook", "thesis");
  fs::create_directory(scratch_ / ".a.weft-01234567");
  NewFile first(scratch_ / "a");
  first.file().append("first");
  write_file_atomically(scratch_ / "a", "second");
  EXPECT_EQ(read_file(scratch_ / "a"), "second");
  first.commit();
  EXPECT_EQ(read_file(scratch_ / "a"), "first");
  EXPECT_THAT(names(), testing::UnorderedElementsAre("a", "a.tmp", ".a.weft-notebook", ".a.weft-01234567"));
}

TEST_F(NewFiles, GiveAnUnnamedFileToo) {
  File file = unnamed_file(scratch_.path());
  file.append("text");
  EXPECT_EQ(file.size(), 4u);
  EXPECT_THAT(names(), testing::IsEmpty());
}

}  // namespace
}  // namespace weft
