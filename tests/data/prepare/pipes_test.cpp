// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/data/prepare/fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/gzip.h"

namespace weft {
namespace {

using namespace test;

using testing::HasSubstr;

// A named pipe into which a thread writes some bytes once somebody reads.
class Pipe {
 public:
  Pipe(const Scratch& scratch, const std::string& name, std::string bytes) : path_(scratch / name) {
    fs::remove(path_);
    EXPECT_EQ(::mkfifo(path_.c_str(), 0600), 0);
    writer_ = std::thread([this, path = path_, bytes = std::move(bytes)] {
      const int descriptor = ::open(path.c_str(), O_WRONLY);
      for (size_t at = 0; at < bytes.size();)
        at += static_cast<size_t>(::write(descriptor, &bytes[at], bytes.size() - at));
      ::close(descriptor);
      done_ = true;
    });
  }
  ~Pipe() {
    const int reader = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK);  // ends the writer of an unread pipe
    for (char bytes[4096]; !done_;) {
      if (::read(reader, bytes, sizeof bytes) <= 0) std::this_thread::yield();
    }
    ::close(reader);
    writer_.join();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
  std::atomic<bool> done_ = false;
  std::thread writer_;
};

std::string many_lines() {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += fmt::format("word{} and more\n", i * 7919 % 1000);
  return text;
}

// Preparation reads the text three times here: it measures, learns and tokenises.
TEST(Pipes, GiveTheDatasetOfAFile) {
  const Scratch scratch;
  DataConfig data = text_config(scratch, {scratch.write("a.txt", many_lines())});
  data.split = SplitRule::Records, data.valid_fraction = 0.1;
  prepare({data, words_tokenizer()});
  auto of_file = contents(data.directory);
  for (const bool compressed : {false, true}) {
    const std::string bytes = compressed ? read_file(write_gz(scratch, "a.gz", many_lines())) : many_lines();
    data.directory = (scratch / (compressed ? "gz" : "plain")).string();
    const Pipe pipe(scratch, "pipe", bytes);
    data.train.files = {pipe.path()};
    prepare({data, words_tokenizer()});
    auto of_pipe = contents(data.directory);
    of_pipe.erase("dataset.json"), of_file.erase("dataset.json");
    EXPECT_TRUE(of_pipe == of_file);
  }
}

TEST(Pipes, EqualBytesAreEqualText) {
  const Scratch scratch;
  DataConfig data = text_config(scratch, {});
  const auto prepare_from = [&](const char* name, const std::string& text) {
    const Pipe pipe(scratch, name, text);
    data.train.files = {pipe.path()};
    return prepare({data, words_tokenizer()}).already_prepared;
  };
  EXPECT_FALSE(prepare_from("first", "one\ntwo\n"));
  EXPECT_TRUE(prepare_from("second", "one\ntwo\n"));
  EXPECT_THAT(error_of([&] { prepare_from("third", "one\n2wo\n"); }), HasSubstr("third has changed"));
}

TEST(Pipes, ErrorsNameThePipe) {
  const Scratch scratch;
  const Pipe pipe(scratch, "pipe", "fine\nb\xff\n");
  EXPECT_THAT(error_of([&] {
                prepare({text_config(scratch, {pipe.path()}), words_tokenizer()});
              }),
              HasSubstr("pipe:2: byte 0xff"));
  EXPECT_FALSE(fs::exists(scratch / "out"));
  for (const auto& entry : fs::directory_iterator(scratch.path())) {
    EXPECT_FALSE(entry.path().filename().string().starts_with(".weft-pipe")) << "a copy is left";
  }
}

TEST(Pipes, AnEmptyPipeIsNoText) {
  const Scratch scratch;
  EXPECT_THAT(error_of([&] {
                prepare({text_config(scratch, {"/dev/null"}), bytes_tokenizer()});
              }),
              HasSubstr("split train holds no document"));
}

// Everything that can be checked without the pipe's text is checked before the pipe is read.
TEST(Pipes, AreNotReadForAJobThatIsWrong) {
  const Scratch scratch;
  ASSERT_EQ(::mkfifo((scratch / "pipe").c_str(), 0600), 0);  // nothing writes: opening the pipe would never end
  const DataConfig data = tsv_config(scratch, {(scratch / "pipe").string()});
  EXPECT_THAT(error_of([&] { prepare({data, {.kind = TokenizerKind::Bytes}}); }), HasSubstr("need `eos`"));
  check_preparation({data, bytes_tokenizer()});
}

}  // namespace
}  // namespace weft
