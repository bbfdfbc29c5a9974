// SPDX-License-Identifier: Apache-2.0
// A preparation that was killed is resumed, and writes the same bytes.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>
#include <thread>

#include "data/parquet/parquet_file.h"
#include "data/prepare/journal.h"
#include "data/prepare/output.h"
#include "tests/data/prepare/fixture.h"
#include "tests/support/gzip.h"
#include "tests/support/source_dir.h"

namespace weft {
namespace {

using namespace test;

class PrepareResumed : public testing::Test {
 protected:
  static PrepareReport make(const DataConfig& data, const TokenizerConfig& tokenizer, int threads = 2) {
    return prepare({data, tokenizer}, {.threads = threads});
  }
  // A child begins and is killed once the file of that shard exists, or of the first later one that an earlier child,
  // killed late, has not begun: the shards before it are in the journal. The child never reaches the end of the text.
  static void kill_at(const DataConfig& data, const TokenizerConfig& tokenizer, int shard) {
    const auto file_of = [&](int i) {
      return fs::path(data.directory) / kStagingName / fmt::format("train-{:05}.h5.tmp", i);
    };
    while (fs::exists(file_of(shard))) ++shard;
    const fs::path file = file_of(shard);
    const pid_t child = fork();
    if (child == 0) {
      std::thread([file] {
        while (!fs::exists(file)) std::this_thread::yield();
        raise(SIGKILL);
      }).detach();
      // The thread that kills may be late: the child does not end before it comes.
      const auto wait_for_the_kill = [&](const PrepareProgress&) {
        while (fs::exists(file)) pause();
      };
      prepare({data, tokenizer}, {.threads = 2, .progress = wait_for_the_kill});
      _exit(1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  }
  // The files that an undisturbed preparation writes in another directory.
  std::map<std::string, std::string> undisturbed(DataConfig data, const TokenizerConfig& tokenizer) const {
    data.directory = (scratch_ / "undisturbed").string();
    fs::remove_all(data.directory);
    make(data, tokenizer, 1);
    return contents(data.directory);
  }
  void expect_same_after_kills(const DataConfig& data, const TokenizerConfig& tokenizer) {
    const auto expected = undisturbed(data, tokenizer);
    for (const int shard : {2, 3, 6}) kill_at(data, tokenizer, shard);
    const PrepareReport report = make(data, tokenizer);
    EXPECT_GT(report.resumed, 0);
    EXPECT_NE(describe(report).find("encoded already"), std::string::npos);
    const auto found = contents(data.directory);
    EXPECT_EQ(found.size(), expected.size());
    for (const auto& [name, bytes] : expected) {
      EXPECT_TRUE(found.contains(name) && found.at(name) == bytes) << name;
    }
  }
  std::string words(size_t bytes, const char* end) {
    std::string text;
    while (text.size() < bytes) text += fmt::format("word{} and {}{}", random_() % 5000, random_() % 99, end);
    return text;
  }

  Scratch scratch_;
  std::mt19937 random_{3};
};

constexpr int64_t kShardTokens = 300'000;  // more than a batch holds, so that the journal has an entry for each shard

TEST_F(PrepareResumed, Lines) {
  DataConfig data = text_config(scratch_, {scratch_.write("a.txt", words(4 << 20, "\n"))});
  data.split = SplitRule::Hash, data.valid_fraction = 0.1, data.duplicates = DuplicatePolicy::Drop;
  data.shard_tokens = kShardTokens;
  expect_same_after_kills(data, bytes_tokenizer());
}

TEST_F(PrepareResumed, RowsOfParquet) {
  if (const std::string found = describe_parquet(); found.starts_with("no: ")) GTEST_SKIP() << found;
  DataConfig data = text_config(scratch_, {(source_dir() / "tests/data/prepare/parquet/long.parquet").string()});
  data.format = TextFormat::Parquet, data.document_delimiter = DocumentDelimiter::BlankLine;
  data.shard_tokens = kShardTokens;
  expect_same_after_kills(data, bytes_tokenizer());
}

TEST_F(PrepareResumed, ALongDocumentAndALearntTokenizer) {
  DataConfig data = text_config(
      scratch_, {scratch_.write("a.txt", words(9 << 20, "\n")), scratch_.write("b.txt", words(2 << 20, " "))});
  data.document_delimiter = DocumentDelimiter::File;
  data.shard_tokens = kShardTokens;
  expect_same_after_kills(data, {.kind = TokenizerKind::Bpe, .vocabulary = 300});
}

TEST_F(PrepareResumed, CompressedPairsWithBadRecords) {
  std::string text;
  while (text.size() < (5 << 20))
    text += words(40, " ") + "\t" + words(60, " ") + "\n" + (random_() % 50 ? "" : "bad\n");
  DataConfig data = tsv_config(scratch_, {write_gz(scratch_, "a.tsv.gz", text)});
  data.bad_records = BadRecordPolicy::Skip;
  data.split = SplitRule::Records, data.test_fraction = 0.05;
  data.shard_tokens = 2 * kShardTokens;
  expect_same_after_kills(data, bytes_tokenizer());
}

TEST_F(PrepareResumed, AnotherTextIsNotResumed) {
  const std::string text = words(3 << 20, "\n");
  DataConfig data = text_config(scratch_, {scratch_.write("a.txt", text)});
  data.shard_tokens = kShardTokens;
  kill_at(data, bytes_tokenizer(), 3);
  scratch_.write("a.txt", text + "more\n");
  const auto expected = undisturbed(data, bytes_tokenizer());
  EXPECT_EQ(make(data, bytes_tokenizer()).resumed, 0);
  EXPECT_TRUE(contents(data.directory) == expected);
}

TEST_F(PrepareResumed, DamagedJournalsAndShardsAreNotResumed) {
  DataConfig data = text_config(scratch_, {scratch_.write("a.txt", words(3 << 20, "\n"))});
  data.shard_tokens = kShardTokens;
  const auto expected = undisturbed(data, bytes_tokenizer());
  const fs::path journal = fs::path(data.directory) / kStagingName / kJournalName;
  const std::vector<std::function<void()>> damages = {
      [&] { fs::resize_file(journal, fs::file_size(journal) - 1); },
      [&] {
        std::string bytes = read_file(journal);
        bytes[bytes.size() / 2] ^= 1;
        write_file_atomically(journal, bytes);
      },
      [&] { fs::resize_file(journal, 0); },
      [&] { fs::resize_file(fs::path(data.directory) / kStagingName / "train-00000.h5.tmp", 100); },
      [&] { fs::remove(fs::path(data.directory) / kStagingName / "train-00000.h5.tmp"); },
  };
  for (const auto& damage : damages) {
    fs::remove_all(data.directory);
    kill_at(data, bytes_tokenizer(), 3);
    ASSERT_TRUE(fs::exists(journal));
    damage();
    EXPECT_EQ(make(data, bytes_tokenizer()).resumed, 0);
    EXPECT_TRUE(contents(data.directory) == expected);
  }
}

// The stored ids need the tokenizer that was learnt; a tokenizer that needs no learning follows from the job alone.
TEST_F(PrepareResumed, NotWithoutTheTokenizerThatWasLearnt) {
  DataConfig data = text_config(scratch_, {scratch_.write("a.txt", words(3 << 20, "\n"))});
  data.shard_tokens = kShardTokens;
  const TokenizerConfig chars = {.kind = TokenizerKind::Chars, .specials = {"</s>"}, .eos = "</s>"};
  for (const TokenizerConfig& tokenizer : {chars, bytes_tokenizer()}) {
    const auto expected = undisturbed(data, tokenizer);
    fs::remove_all(data.directory);
    kill_at(data, tokenizer, 3);
    fs::remove(fs::path(data.directory) / kStagingName / "tokenizer.json.tmp");
    EXPECT_EQ(make(data, tokenizer).resumed > 0, tokenizer.kind == TokenizerKind::Bytes);
    EXPECT_TRUE(contents(data.directory) == expected);
  }
}

}  // namespace
}  // namespace weft
