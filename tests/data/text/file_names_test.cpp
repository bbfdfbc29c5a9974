// SPDX-License-Identifier: Apache-2.0
#include "data/text/file_names.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/support/error_of.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;

using testing::ElementsAre;
using testing::HasSubstr;

// A small tree of text files, and the files that a name stands for, relative to the tree.
class FileNames : public testing::Test {
 protected:
  FileNames() {
    for (const char* directory : {"d/one/two", "d/.hidden", "d/empty"}) fs::create_directories(scratch_ / directory);
    for (const char* file : {"d/b.txt", "d/a.txt", "d/a.md", "d/.dot.txt", "d/one/c.txt", "d/one/two/d.txt",
                             "d/.hidden/e.txt", "d/odd[1].txt"}) {
      scratch_.write(file, "text\n");
    }
  }
  std::vector<std::string> of(const std::string& name) {
    std::vector<std::string> found;
    for (const fs::path& path : files_named((scratch_ / name).string())) {
      found.push_back(path.lexically_relative(scratch_.path()).string());
    }
    return found;
  }
  Scratch scratch_;
};

TEST_F(FileNames, TwoStarsAreAnyNumberOfDirectories) {
  EXPECT_THAT(of("d/**/*.txt"), ElementsAre("d/a.txt", "d/b.txt", "d/odd[1].txt", "d/one/c.txt", "d/one/two/d.txt"));
  EXPECT_THAT(of("d/**/two/*.txt"), ElementsAre("d/one/two/d.txt"));
  EXPECT_THAT(of("**/two/**"), ElementsAre("d/one/two/d.txt"));
  EXPECT_THAT(of("d/**/**/c.txt"), ElementsAre("d/one/c.txt"));
}

TEST_F(FileNames, ADirectoryIsAllFilesBelowIt) {
  EXPECT_THAT(of("d"), ElementsAre("d/a.md", "d/a.txt", "d/b.txt", "d/odd[1].txt", "d/one/c.txt", "d/one/two/d.txt"));
  EXPECT_THAT(of("d/o*"), ElementsAre("d/odd[1].txt", "d/one/c.txt", "d/one/two/d.txt"));
  EXPECT_THAT(error_of([&] { of("d/empty"); }), HasSubstr("d/empty: there is no file in this directory"));
}

TEST_F(FileNames, PatternsMatchWithinAName) {
  EXPECT_THAT(of("d/[ab].txt"), ElementsAre("d/a.txt", "d/b.txt"));
  EXPECT_THAT(of("d/?.md"), ElementsAre("d/a.md"));
  EXPECT_THAT(of("d/.*.txt"), ElementsAre("d/.dot.txt"));
  EXPECT_THAT(of("d/*/*.txt"), ElementsAre("d/one/c.txt"));
  EXPECT_THAT(of("d/odd[1].txt"), ElementsAre("d/odd[1].txt"));  // a file with exactly this name comes first
  EXPECT_THAT(error_of([&] { of("d/*.tsv"); }), HasSubstr("d/*.tsv: no file matches"));
  EXPECT_THAT(error_of([&] { of("nowhere/*.txt"); }), HasSubstr("nowhere/*.txt: no file matches"));
  EXPECT_THAT(error_of([&] { of("d/no.txt"); }), HasSubstr("d/no.txt: no such file"));
}

TEST_F(FileNames, LinksToDirectoriesEndNoWalk) {
  fs::create_directory_symlink("..", scratch_ / "d/one/up");
  fs::create_symlink("a.txt", scratch_ / "d/link.txt");
  EXPECT_THAT(of("d/**/c.txt"), ElementsAre("d/one/c.txt"));
  EXPECT_THAT(of("d/l*"), ElementsAre("d/link.txt"));
}

TEST_F(FileNames, RelativeNamesStayRelative) {
  const fs::path before = fs::current_path();
  fs::current_path(scratch_.path());
  const auto stars = files_named("**/c.txt"), plain = files_named("d/a.txt");
  fs::current_path(before);
  EXPECT_THAT(stars, ElementsAre("d/one/c.txt"));
  EXPECT_THAT(plain, ElementsAre("d/a.txt"));
}

TEST_F(FileNames, PipesAreFilesAndSocketsAreNot) {
  ASSERT_EQ(mkfifo((scratch_ / "d/pipe").c_str(), 0600), 0);
  EXPECT_THAT(of("d/pi*"), ElementsAre("d/pipe"));
  ASSERT_EQ(mknod((scratch_ / "d/socket").c_str(), S_IFSOCK | 0600, 0), 0);
  EXPECT_THAT(error_of([&] { of("d/socket"); }), HasSubstr("d/socket: neither a file nor a pipe"));
}

}  // namespace
}  // namespace weft
