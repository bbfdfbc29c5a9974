// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <chrono>
#include <cstring>
#include <iostream>
#include <random>
#include <set>
#include <thread>

#include "data/dataset/inspect.h"
#include "data/prepare/output.h"
#include "tests/data/prepare/fixture.h"
#include "tests/support/error_of.h"

// Whatever stops a preparation, readers find the dataset from before, the new dataset, or no dataset.
namespace weft {
namespace {

using namespace test;

using std::chrono::duration;
using std::chrono::steady_clock;
using testing::HasSubstr;

std::string numbered_lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("line {} of many words\n", i);
  return text;
}

// Runs f in a child that is killed after `seconds`; returns true if the child had ended by itself.
template <class F>
bool run_and_kill(double seconds, F&& f) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      f();
      _exit(0);
    } catch (...) {
      _exit(1);
    }
  }
  std::this_thread::sleep_for(duration<double>(seconds));
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) << status;
  return WIFEXITED(status);
}

// The text that the directory's dataset decodes to, after a full check; empty without a dataset.
std::string whole_text(const fs::path& directory) {
  if (!fs::exists(directory / kManifestName)) {
    EXPECT_THROW(Dataset::open(directory, DataSplit::Train), DataError);
    return {};
  }
  EXPECT_THAT(verify_dataset(directory), testing::IsEmpty());
  const Dataset dataset = Dataset::open(directory, DataSplit::Train);
  return dataset.load_source_tokenizer()->decode(all_tokens(dataset));
}

class PrepareKilled : public testing::Test {
 protected:
  DataConfig config(const std::string& file) const {
    DataConfig data = text_config(scratch_, {file});
    data.document_delimiter = DocumentDelimiter::File;
    data.shard_tokens = 20'000;
    return data;
  }
  static void make(const DataConfig& data) {
    prepare({data, {.kind = TokenizerKind::Chars}}, {.threads = 2, .force = true});
  }
  double seconds_to_make(const DataConfig& data) const {
    const auto begin = steady_clock::now();
    make(data);
    return duration<double>(steady_clock::now() - begin).count();
  }

  Scratch scratch_;
  std::mt19937 random_{20};
};

TEST_F(PrepareKilled, AKillAtAnyInstantLeavesAllOrNothing) {
  const std::string text = numbered_lines(4000);
  const DataConfig data = config(scratch_.write("a.txt", text));
  const double whole = seconds_to_make(data);
  int killed = 0, finished = 0;
  for (int i = 0; i < 40; ++i) {
    fs::remove_all(data.directory);
    const double at = std::uniform_real_distribution<double>(0, 1.2 * whole)(random_);
    const bool ended = run_and_kill(at, [&] { make(data); });
    const std::string found = whole_text(data.directory);
    EXPECT_TRUE(found == text || (found.empty() && !ended)) << i;
    ++(ended ? finished : killed);
  }
  EXPECT_GE(killed, 5);
  make(data);  // over the files that the last preparation left
  EXPECT_EQ(whole_text(data.directory), text);
  for (const auto& [name, bytes] : contents(data.directory)) EXPECT_NE(name, kStagingName);
}

TEST_F(PrepareKilled, AKillWhileReplacingLeavesTheOldTheNewOrNoDataset) {
  const std::string old_text = numbered_lines(3000), new_text = numbered_lines(5000);
  const DataConfig old_data = config(scratch_.write("a.txt", old_text));
  const DataConfig new_data = config(scratch_.write("b.txt", new_text));
  make(old_data);
  const double whole = seconds_to_make(new_data);
  std::set<std::string> seen;
  for (int i = 0; i < 40; ++i) {
    make(old_data);
    run_and_kill(std::uniform_real_distribution<double>(0, 1.2 * whole)(random_), [&] { make(new_data); });
    const std::string found = whole_text(new_data.directory);
    EXPECT_TRUE(found.empty() || found == old_text || found == new_text) << i;
    seen.insert(found);
  }
  EXPECT_TRUE(seen.contains(old_text));
}

// The file system is full after some kilobytes: the tokenizer, the journal or the shard meets the limit.
class PrepareWithoutSpace : public PrepareKilled {
 protected:
  // Sets the limit in a child, so that only the child has it. The error message returns through a file.
  std::string error_with_file_limit(const DataConfig& data, rlim_t bytes) const {
    const fs::path message = scratch_ / "message";
    fs::remove(message);
    const pid_t child = fork();
    if (child == 0) {
      const std::string error = error_of([&] {
        signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{bytes, bytes};
        setrlimit(RLIMIT_FSIZE, &limit);
        make(data);
      });
      File(message, File::Mode::Create).append(error.substr(0, 200));
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return read_file(message);
  }
};

TEST_F(PrepareWithoutSpace, AFileThatCannotGrowIsAnErrorAndLeavesNothing) {
  const DataConfig data = config(scratch_.write("a.txt", numbered_lines(2000)));
  for (const rlim_t bytes : {300, 1000, 5000, 30'000}) {
    const std::string error = error_with_file_limit(data, bytes);
    EXPECT_NE(error, "no error") << bytes;
    EXPECT_THAT(error,
                testing::ContainsRegex("out/.weft-preparation/(tokenizer.json|.preparation.journal|train-00000.h5)"))
        << bytes;
    EXPECT_FALSE(fs::exists(data.directory)) << bytes;
  }
}

TEST_F(PrepareWithoutSpace, TheOldDatasetSurvives) {
  const std::string text = numbered_lines(500);
  make(config(scratch_.write("a.txt", text)));
  const DataConfig larger = config(scratch_.write("b.txt", numbered_lines(4000)));
  EXPECT_NE(error_with_file_limit(larger, 30'000), "no error");
  EXPECT_EQ(whole_text(larger.directory), text);
  for (const auto& [name, bytes] : contents(larger.directory)) EXPECT_NE(name, kStagingName);
}

// Mounts a real full file system if this user may mount one; elsewhere only the limits above are tested.
TEST_F(PrepareWithoutSpace, AFullFileSystemIsNamedWithAHint) {
  const fs::path small = scratch_ / "small";
  fs::create_directories(small);
  DataConfig data = config(scratch_.write("a.txt", numbered_lines(20'000)));
  data.directory = (small / "out").string();
  if (mount("tmpfs", small.c_str(), "tmpfs", 0, "size=300k") != 0) {
    std::cout << "nothing was mounted: " << strerror(errno) << "\n";
    return;
  }
  const std::string error = error_of([&] { make(data); });
  const bool left = fs::exists(data.directory);
  umount(small.c_str());
  EXPECT_THAT(error, testing::AllOf(HasSubstr("No space left on device"),
                                    HasSubstr("small/out/.weft-preparation/train-0000"), HasSubstr("free some space")));
  EXPECT_FALSE(left);
}

TEST(PrepareUnwritable, TheDirectoryIsNamed) {
  const Scratch scratch;
  DataConfig data = text_config(scratch, {scratch.write("a.txt", "one\n")});
  data.directory = "/proc/weft/out";
  EXPECT_THAT(error_of([&] { prepare({data, bytes_tokenizer()}); }), HasSubstr("create /proc/weft: No such file"));
  data.directory = scratch.write("file", "x");
  EXPECT_THAT(error_of([&] { prepare({data, bytes_tokenizer()}); }), HasSubstr("file"));
}

}  // namespace
}  // namespace weft
