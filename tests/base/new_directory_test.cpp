// SPDX-License-Identifier: Apache-2.0
#include "base/files/new_directory.h"

#include <gmock/gmock.h>

#include <cerrno>

#include "tests/support/error_of.h"
#include "tests/support/refused_calls.h"
#include "tests/support/scratch.h"
#include "tests/support/small_disk.h"

namespace weft {
namespace {

using namespace test;

using testing::HasSubstr;
using testing::UnorderedElementsAre;

// The paths of everything below a directory; the path of a link ends in @.
std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    names.push_back(fs::relative(entry.path(), directory).string() + (entry.is_symlink() ? "@" : ""));
  }
  return names;
}

void make(const fs::path& name) {
  NewDirectory directory(name);
  write_file_atomically(directory.path() / "content", "x");
  directory.commit();
}

TEST(NewDirectory, HasItsNameOnceItIsWhole) {
  const Scratch scratch;
  {
    NewDirectory directory(scratch / "out");
    write_file_atomically(directory.path() / "content", "x");
    EXPECT_FALSE(fs::exists(scratch / "out"));
    const fs::perms own = fs::status(directory.path().parent_path()).permissions();
    EXPECT_EQ(own & (fs::perms::group_all | fs::perms::others_all), fs::perms::none);
    directory.commit();
    EXPECT_EQ(read_file(scratch / "out/content"), "x");
  }
  EXPECT_THAT(names_in(scratch.path()), UnorderedElementsAre("out", "out/content"));
  fs::create_directory(scratch / "ordinary");
  EXPECT_EQ(fs::status(scratch / "out").permissions(), fs::status(scratch / "ordinary").permissions());
}

TEST(NewDirectory, MayBeNamedWithSlashesBehindIt) {
  const Scratch scratch;
  for (const char* name : {"a/", "b//", "c/.", "d/e/f/", "d/../g/"}) make(scratch / name);
  for (const char* name : {"a", "b", "c", "d/e/f", "g"}) EXPECT_EQ(read_file(scratch / name / "content"), "x") << name;
  for (const char* name : {"", ".", "/", "//"}) {
    EXPECT_NE(error_of([&] { NewDirectory directory(name); }), "no error") << name;
  }
}

TEST(NewDirectory, LeavesNothingUnlessItIsCommitted) {
  const Scratch scratch;
  EXPECT_NE(error_of([&] {
              NewDirectory directory(scratch / "out");
              write_file_atomically(directory.path() / "content", "x");
              throw DataError("no");
            }),
            "no error");
  EXPECT_THAT(names_in(scratch.path()), UnorderedElementsAre());
}

TEST(NewDirectory, NeverTouchesForeignFiles) {
  const Scratch scratch;
  for (const char* name : {"out.tmp", "out.parts", ".out", ".out.tmp"}) {
    fs::create_directory(scratch / name);
    scratch.write(std::string(name) + "/keep", "thesis");
  }
  const auto before = names_in(scratch.path());
  { NewDirectory directory(scratch / "out"); }
  EXPECT_EQ(names_in(scratch.path()), before);
  make(scratch / "out");
  EXPECT_EQ(names_in(scratch.path()).size(), before.size() + 2);
}

// Gives `name` to a file (0), an empty directory (1), a directory with a file (2), or a link to nothing (3).
void put(const fs::path& name, int kind) {
  if (kind == 0) write_file_atomically(name, "theirs");
  if (kind == 1 || kind == 2) fs::create_directory(name);
  if (kind == 2) write_file_atomically(name / "keep", "theirs");
  if (kind == 3) fs::create_symlink("nowhere", name);
}

void expect_nothing_replaced(const fs::path& folder) {
  for (int kind = 0; kind < 4; ++kind) {
    const fs::path early = folder / fmt::format("early{}", kind), late = folder / fmt::format("late{}", kind);
    put(early, kind);
    for (const char* slash : {"", "/"}) {
      const std::string name = early.string() + slash;
      EXPECT_EQ(error_of([&] { require_absent(name); }), early.string() + ": exists already");
      EXPECT_EQ(error_of([&] { NewDirectory directory(name); }), early.string() + ": exists already");
    }
    EXPECT_THAT(error_of([&] {
                  NewDirectory directory(late);
                  put(late, kind);
                  directory.commit();
                }),
                HasSubstr(late.string() + ": File exists"));
  }
  EXPECT_THAT(names_in(folder), UnorderedElementsAre("early0", "late0", "early1", "late1", "early2", "late2",
                                                     "early2/keep", "late2/keep", "early3@", "late3@"));
}

TEST(NewDirectory, ReplacesNothing) {
  const Scratch scratch;
  expect_nothing_replaced(scratch.path());
}

TEST(NewDirectory, ReplacesNothingIfTheFileSystemCannotGuaranteeIt) {
  const Scratch scratch;
  const auto result = in_child([&] {
    EXPECT_TRUE(refuse({.call = __NR_renameat2, .error = EINVAL}));
    expect_nothing_replaced(scratch.path());
    make(scratch / "out");
    EXPECT_EQ(read_file(scratch / "out/content"), "x");
    return ChildResult::Passed;
  });
  EXPECT_EQ(result, ChildResult::Passed);
}

}  // namespace
}  // namespace weft
