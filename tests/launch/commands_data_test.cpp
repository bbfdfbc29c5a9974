// SPDX-License-Identifier: Apache-2.0
// The messages of the program when text or prepared datasets are wrong, and its results for mixed datasets.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/launch/fixture/commands.h"
#include "tests/support/deep_json.h"
#include "tests/support/gzip.h"

namespace weft {
namespace {

using namespace test;
using testing::HasSubstr;

TEST_F(Commands, Mixtures) {
  prepare_both();
  must({"prepare", "gpt.yaml", "--set", "data.directory=more", "--set", "data.train.files=[valid.txt]", "--set",
        "data.tokenizer_file=data/tokenizer.json"});
  must({"prepare", "gpt.yaml", "--set", "data.directory=others", "--set", "tokenizer={specials: [<x>], eos: <x>}"});
  const auto on = [&](const char* command, const std::string& mixture) {
    return std::vector<std::string>{command, "gpt.yaml", "--set", "data.mixture=" + mixture, "--set", "run_dir=mixed"};
  };
  expect_all({
      {on("validate", "[{directory: more, weight: 0.5}]"), 0, {"of 2 datasets mixed by weight", "more", "33.33 %"}},
      {on("validate", "[{directory: nowhere}]"), 0, {"nowhere of data.mixture is not prepared yet"}},
      {on("prepare", "[{directory: nowhere}]"), 0, {"nowhere of data.mixture is not prepared"}},
      {on("validate", "[{directory: more, weight: 0}]"), 2, {"data.mixture.0.weight: expected a number from 1e-09"}},
      {on("validate", "[{directory: more}, {directory: data}]"), 2, {"data: data is mixed with itself"}},
      {on("validate", "[{directory: more, weight: 1e-6}]"), 2, {"data.mixture: a weight of 1e-06", "raise it"}},
  });
  for (const char* command : {"train", "validate"}) {
    expect_all({
        {on(command, "[{directory: others}]"),
         3,
         {"data and others cannot be mixed: they differ in tokenizer", "data.tokenizer_file: data/tokenizer.json"}},
        {on(command, "[{directory: tdata}]"), 3, {"data and tdata cannot be mixed: they differ in kind"}},
    });
  }
  expect({on("train", "[{directory: nowhere}]"), 3, {"nowhere holds no prepared dataset"}});
  must(on("plan", "[{directory: more, weight: 0.5}]"));
  must(on("train", "[{directory: more, weight: 0.5}]"));
  // The number of held-out targets of both datasets, and of one of them.
  const auto targets = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"evaluate", "--checkpoint", "mixed", "--split", "valid", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Finished done = run_weft(scratch_.path(), arguments);
    EXPECT_EQ(done.exit, 0) << done.err;
    return nlohmann::json::parse(done.out)["perplexity"]["tokens"].get<int64_t>();
  };
  const int64_t one = targets({"--set", "data.mixture=[]"});
  EXPECT_EQ(targets({}), 2 * one + 1);  // both datasets hold out the same text
  EXPECT_EQ(targets({"--set", "data.directory=more", "--set", "data.mixture=[]"}), one);
  expect({{"evaluate", "--checkpoint", "mixed", "--set", "data.directory=more"}, 2, {"more is mixed with itself"}});
}

TEST_F(Commands, APerplexityStatesThatDocumentsWereSeparate) {
  must({"prepare", "gpt.yaml"});
  must({"train", "gpt.yaml", "--set", "data.document_mask=true"});
  const auto said = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"evaluate", "--checkpoint", "run", "--split", "valid"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_weft(scratch_.path(), arguments).out;
  };
  EXPECT_THAT(said({}), testing::HasSubstr("EOS scored, documents apart\n"));
  EXPECT_THAT(said({"--set", "data.document_mask=false"}), testing::HasSubstr("EOS scored\n"));
}

TEST_F(Commands, ADocumentMaskNeedsDocumentsThatEnd) {
  const auto on = [](const char* command, const char* mask) {
    return std::vector<std::string>{command, "gpt.yaml",
                                    "--set", "tokenizer={specials: [], eos: \"\"}",
                                    "--set", "data.document_delimiter=file",
                                    "--set", std::string("data.document_mask=") + mask};
  };
  must(on("prepare", "false"));
  for (const char* command : {"train", "validate", "plan"}) {
    expect(
        {on(command, "true"), 3, {"data.document_mask: the documents of data have no end token", "hint: prepare it"}});
  }
}

TEST_F(Commands, MixturesOfPairs) {
  prepare_both();
  must({"prepare", "pairs.yaml", "--set", "data.directory=tmore", "--set", "data.train.files=[valid.tsv]", "--set",
        "data.tokenizer_file=tdata/tokenizer.json"});
  const std::string mixture = "data.mixture=[{directory: tmore, weight: 0.5}]";
  must({"train", "pairs.yaml", "--set", mixture});
  expect({{"train", "pairs.yaml", "--set", "data.mixture=[{directory: tmore, weight: 0.7}]", "--set",
           "train.max_steps=3", "--set", "allow_changes=[train.max_steps]"},
          2,
          {"data.mixture: [", "weight: 0.5}] -> [", "weight: 0.7}]"}});
  const Finished done =
      run_weft(scratch_.path(), {"evaluate", "pairs.yaml", "--set", mixture, "--split", "valid", "--json"});
  ASSERT_EQ(done.exit, 0) << done.err;
  const auto report = nlohmann::json::parse(done.out);
  EXPECT_EQ(report["pairs"], 4);  // two pairs of each dataset
  EXPECT_EQ(report["references"], "text");
}

TEST_F(Commands, Text) {
  scratch_.write("empty.txt", "");
  scratch_.write("blank.txt", "\n \n\t\n");
  scratch_.write("binary.txt", std::string("fine\nab\0cd\n", 11));
  scratch_.write("latin.txt", "one\ncaf\xe9\n");
  const std::string gz = read_file(write_gz(scratch_, "whole.gz", std::string(5000, 'x') + "\n"));
  scratch_.write("cut.gz", gz.substr(0, gz.size() / 2));
  scratch_.write("three", "a\nb\nc\n");
  scratch_.write("two", "a\nb\n");
  scratch_.write("few.tsv", "a\tb\nonly one\n");
  scratch_.write("types.jsonl", "{\"text\": \"hi\"}\n{\"text\": 5}\n");
  scratch_.write("syntax.jsonl", "{\"text\": \"hi\"}\n{\"text\": \n");
  const auto text = [](const std::string& file) {
    return std::vector<std::string>{"prepare", "gpt.yaml", "--set", "data.train.files=[" + file + "]"};
  };
  const auto with = [](std::vector<std::string> words, std::initializer_list<std::string> more) {
    for (const std::string& word : more) words.insert(words.end(), {"--set", word});
    return words;
  };
  expect_all({
      {text("nowhere.txt"), 3, {"nowhere.txt: no such file"}},
      {text("no*.txt"), 3, {"no*.txt: no file matches"}},
      {text("."), 3, {"./binary.txt:2: a NUL byte"}},
      {text("empty.txt"), 3, {"split train holds no document", "hint: check the files"}},
      {text("blank.txt"), 3, {"split train holds no document"}},
      {text("binary.txt"), 3, {"binary.txt:2: a NUL byte", "hint:"}},
      {text("cut.gz"), 3, {"cut.gz", "truncated"}},
      {with(text("latin.txt"), {"tokenizer.kind=chars"}), 3, {"latin.txt:2: byte 0xe9 is not valid UTF-8", "hint:"}},
      {with(text("types.jsonl"), {"data.format=jsonl", "data.valid.files=[types.jsonl]"}), 3, {"types.jsonl:2"}},
      {with(text("syntax.jsonl"), {"data.format=jsonl", "data.valid.files=[syntax.jsonl]"}), 3, {"syntax.jsonl:2"}},
      {{"prepare", "pairs.yaml", "--set", "data.train.files=[few.tsv]"}, 3, {"few.tsv:2", "column 2"}},
      {with({"prepare", "gpt.yaml"}, {"data.tokenizer_file=nowhere.json"}),
       3,
       {"nowhere.json: cannot be read: No such file"}},
      {with({"prepare", "gpt.yaml"}, {"data.tokenizer_file=train.txt"}), 3, {"train.txt: no valid JSON"}},
      {with({"prepare", "gpt.yaml"}, {"tokenizer.kind=gpt2", "tokenizer.vocab_file=no.json",
                                      "tokenizer.merges_file=no.txt", "tokenizer.specials=[]", "tokenizer.eos=\"\""}),
       3,
       {"no.json: cannot be read: No such file"}},
  });
  std::string parallel = kPairsJob;
  const size_t from = parallel.find("data:"), to = parallel.find('\n', from);
  parallel.replace(from, to - from,
                   "data: {directory: pdata, format: parallel, train: {source: [three], target: [two]}, "
                   "valid: {source: [two], target: [two]}}");
  scratch_.write("parallel.yaml", parallel);
  expect({{"prepare", "parallel.yaml"}, 3, {"three", "two", "3", "2", "lines"}});
}

// 30 documents of "the boat went by"; 30 pairs of "ab 0" to "ab 29" with "ba".
TEST_F(Commands, StatisticsCountTextsAndTokens) {
  prepare_both();
  const std::string text = run_weft(scratch_.path(), {"inspect", "data", "--statistics", "--top", "2"}).out;
  for (const char* line :
       {"train: 30 documents\n", "  text: 480 tokens, 120 words, 480 bytes: 4.000 tokens a word, 1.000 bytes a token\n",
        "    tokens         16       16       16       16       16       16      16.00\n",
        "    words           4        4        4        4        4        4       4.00\n",
        "    distinct tokens: 10 of the vocabulary's 257 (3.9 %)\n",
        "    after tokens: 10: 8 20: 10 50: 10 100: 10 200: 10 480: 10\n",
        "            32         90  18.750 %  \" \"\n           116         90  18.750 %  \"t\"\n",
        "valid: 1 document\n"})
    EXPECT_THAT(text, HasSubstr(line));
  const std::string line = run_weft(scratch_.path(), {"inspect", "tdata", "--statistics", "--json"}).out;
  const nlohmann::json json = nlohmann::json::parse(line);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_EQ(json["kind"], "pairs");
  const nlohmann::json& train = json["splits"]["train"];
  EXPECT_EQ(train["texts"], 30);
  EXPECT_EQ(train["source"]["tokens"], 10 * 4 + 20 * 5);
  EXPECT_EQ(train["source"]["tokens_per_text"]["25"], 4);
  EXPECT_EQ(train["source"]["tokens_per_text"]["50"], 5);
  EXPECT_EQ(train["source"]["words"], 60);
  EXPECT_EQ(train["source"]["distinct"], 13);
  EXPECT_EQ(train["target"]["growth"], nlohmann::json::parse("[[10, 2], [20, 2], [50, 2], [60, 2]]"));
  EXPECT_EQ(train["shared"], 2);
  EXPECT_EQ(train["target_percent_of_source"]["5"], 40);
  EXPECT_EQ(train["target_percent_of_source"]["100"], 50);
  expect_all({
      {{"inspect", "gpt.yaml", "--statistics"}, 2, {"gpt.yaml is not a prepared dataset", "--statistics", "hint:"}},
      {{"inspect", "data", "--json"}, 2, {"--json requires --statistics"}},
      {{"inspect", "data", "--statistics", "--show", "1"}, 2, {"excludes", "--statistics"}},
  });
}

TEST_F(Commands, StatisticsAsAPage) {
  prepare_both();
  std::vector<std::string> command = {"inspect", "tdata", "--statistics", "--out", "page.html"};
  const Finished made = run_weft(scratch_.path(), command);
  EXPECT_EQ(made.out, "");
  EXPECT_THAT(made.err, HasSubstr("wrote page.html; open it in a browser"));
  EXPECT_THAT(read_file(scratch_ / "page.html"), HasSubstr(R"("dataset":"tdata","splits":[{"split":"train")"));
  const std::string alone = run_weft(scratch_.path(), {"inspect", "tdata", "--statistics", "--json"}).out;
  command.push_back("--json");
  EXPECT_EQ(run_weft(scratch_.path(), command).out, alone);
  expect_all({
      {{"inspect", "data", "--out", "page.html"}, 2, {"--out requires --statistics"}},
      {{"inspect", "data", "--statistics", "--out", "train.txt"}, 3, {"train.txt is there already", "hint: remove it"}},
  });
}

// Bytes that are no UTF-8 are kept by kinds that keep any bytes.
TEST_F(Commands, BytesThatAreNoUtf8AreKept) {
  scratch_.write("train.txt", "caf\xe9 ol\xe9 caf\xe9 ol\xe9\n");
  must({"prepare", "gpt.yaml"});
  must({"inspect", "data", "--verify"});
}

TEST_F(Commands, DatasetsThatDoNotFit) {
  train_both();
  const auto copy = [&](const std::string& from, const std::string& to) {
    fs::copy(scratch_ / from, scratch_ / to, fs::copy_options::recursive);
  };
  for (const char* name : {"cut", "foreign", "text", "manifest", "otherids", "gone"}) copy("data", name);
  fs::resize_file(scratch_ / "cut/train-00000.h5", 2000);
  fs::copy_file(scratch_ / "tdata/train-00000.h5", scratch_ / "foreign/train-00000.h5",
                fs::copy_options::overwrite_existing);
  scratch_.write("text/train-00000.h5", std::string(fs::file_size(scratch_ / "data/train-00000.h5"), 'x'));
  scratch_.write("manifest/dataset.json", "{}");
  fs::copy_file(scratch_ / "tdata/tokenizer.json", scratch_ / "otherids/tokenizer.json",
                fs::copy_options::overwrite_existing);
  fs::remove(scratch_ / "gone/train-00000.h5");
  for (const char* command : {"train", "validate"}) {
    const auto on = [&](const std::string& directory) {
      return std::vector<std::string>{command, "gpt.yaml",      "--set", "data.directory=" + directory,
                                      "--set", "run_dir=newrun"};
    };
    expect_all({
        {on("cut"), 3, {"cut/train-00000.h5: 2000 bytes", "truncated"}},
        {on("foreign"), 3, {"foreign/train-00000.h5"}},
        {on("text"), 3, {"text/train-00000.h5"}},
        {on("manifest"), 3, {"manifest/dataset.json"}},
        {on("gone"), 3, {"gone/train-00000.h5"}},
        {on("tdata"), 2, {"tdata was prepared differently", "data.format was", "hint:"}},
        {on("otherids"), 3, {"otherids/tokenizer.json is not the tokenizer that made this dataset"}},
    });
  }
  expect_all({
      {{"train", "gpt.yaml", "--set", "data.directory=nowhere", "--set", "run_dir=newrun"},
       3,
       {"nowhere holds no prepared dataset", "weft prepare"}},
      {{"train", "pairs.yaml", "--set", "model.max_length=3", "--set", "run_dir=newrun"},
       2,
       {"has a sequence of", "model.max_length is 3", "hint:"}},
      {{"prepare", "gpt.yaml", "--set", "tokenizer.kind=chars"}, 3, {"data already holds another dataset", "hint:"}},
      {{"evaluate", "gpt.yaml", "--set", "data.directory=tdata", "--split", "valid"},
       2,
       {"tdata holds pairs, but task is gpt"}},
      {{"evaluate", "gpt.yaml", "--split", "test"}, 3, {"has no split \"test\", only: train, valid"}},
      {{"inspect", "cut"}, 3, {"cut/train-00000.h5"}},
      {{"inspect", ".", "--verify"}, 3, {"no committed checkpoint here"}},
      {{"inspect", "otherids", "--verify"}, 3, {"otherids/tokenizer.json"}},
      {{"inspect", "data/train-00000.h5"}, 2, {"part of a dataset", "hint: give the directory"}},
      {{"inspect", "run/metrics.jsonl"}, 2, {"cannot show a file of this kind", "hint:"}},
      {{"inspect", "data/dataset.json"}, 2, {"hint: give the directory"}},
      {{"inspect", "nowhere"}, 3, {"nowhere: no such file"}},
  });
}

// Files of unknown origin, before anything in them is trusted.
TEST_F(Commands, NoDepthOfJsonEndsTheProgram) {
  fs::create_directories(scratch_ / "run/checkpoints/step-00000001");
  for (const std::string& deep : deepest_values()) {
    scratch_.write("t.json", R"({"format":)" + deep + "}");
    scratch_.write("run/checkpoints/step-00000001/manifest.json", R"({"weft_checkpoint":)" + deep + R"(,"hash":"0"})");
    expect_all({
        {{"inspect", "t.json"}, 3, {"t.json: more than 64 lists and objects within each other"}},
        {{"tokenize", "--tokenizer", "t.json"}, 3, {"t.json: more than 64"}},
        {{"inspect", "run/checkpoints/step-00000001"}, 3, {"manifest.json: the manifest: more than 64", "hint:"}},
        {{"inspect", "run"}, 3, {"manifest.json: the manifest: more than 64"}},
        {{"average", "run", "--out", "mean"}, 3, {"manifest.json: the manifest: more than 64"}},
    });
  }
}

}  // namespace
}  // namespace weft
