// What users get when something is wrong: the exit code of the documentation, a message that says what, where and what
// to do, nothing half-written, inputs as they were. The program itself is run.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <nlohmann/json.hpp>

#include "tests/launch/run_weft.h"
#include "tests/support/gzip.h"
#include "tests/support/scratch.h"
#include "tests/support/small_disk.h"

namespace weft {
namespace {

using namespace test;

struct Case {
  std::vector<std::string> arguments;
  int exit = 0;
  std::vector<std::string> says;  // pieces of what it prints on standard error
  std::string input = "";
};

constexpr const char* kGptJob = R"(name: g
run_dir: run
data: {directory: data, train: {files: [train.txt]}, valid: {files: [valid.txt]}}
tokenizer: {kind: bytes, specials: [<e>], eos: <e>}
model: {layers: 1, width: 16, heads: 2, max_length: 8}
batch: {sequences: 2}
train: {max_steps: 2}
)";
constexpr const char* kPairsJob = R"(name: t
task: translation
run_dir: trun
data: {directory: tdata, format: tsv, train: {files: [train.tsv]}, valid: {files: [valid.tsv]}}
tokenizer: {kind: chars, specials: [<s>, </s>], bos: <s>, eos: </s>}
model: {encoder_layers: 1, layers: 1, width: 16, heads: 2, max_length: 12}
batch: {sequences: 2}
train: {max_steps: 2}
)";

class Commands : public testing::Test {
 protected:
  void SetUp() override {
    std::string text, pairs;
    for (int i = 0; i < 30; ++i) text += "the boat went by\n\n", pairs += "ab " + std::to_string(i) + "\tba\n";
    scratch_.write("train.txt", text);
    scratch_.write("valid.txt", "a boat and the wind\n");
    scratch_.write("train.tsv", pairs);
    scratch_.write("valid.tsv", "a 1\tba\nb 2\tab\n");
    scratch_.write("gpt.yaml", kGptJob);
    scratch_.write("pairs.yaml", kPairsJob);
  }

  void must(const std::vector<std::string>& arguments) {
    const Finished done = run_weft(scratch_.path(), arguments);
    ASSERT_EQ(done.exit, 0) << joined(arguments) << "\n" << done.err;
  }
  void prepare_both() { must({"prepare", "gpt.yaml"}), must({"prepare", "pairs.yaml"}); }
  void train_both() { prepare_both(), must({"train", "gpt.yaml"}), must({"train", "pairs.yaml"}); }

  Finished expect(const Case& c) {
    const auto before = snapshot(scratch_.path());
    const Finished done = run_weft(scratch_.path(), c.arguments, c.input);
    const std::string what = joined(c.arguments) + "\n" + done.err;
    EXPECT_EQ(done.exit, c.exit) << what;
    for (const std::string& piece : c.says) EXPECT_NE(done.err.find(piece), std::string::npos) << piece << "\n" << what;
    EXPECT_EQ(snapshot(scratch_.path()), before) << what;
    return done;
  }
  void expect_all(const std::vector<Case>& cases) {
    for (const Case& c : cases) expect(c);
  }

  Scratch scratch_;
};

TEST_F(Commands, CommandLine) {
  expect_all({
      {{}, 2, {"subcommand is required"}},
      {{"trian", "gpt.yaml"}, 2, {"weft has no command 'trian'", "did you mean 'train'?"}},
      {{"train"}, 2, {"job is required"}},
      {{"train", "gpt.yaml", "--frobnicate"}, 2, {"--frobnicate"}},
      {{"validate", "gpt.yaml", "--ranks", "0"}, 2, {"--ranks"}},
      {{"translate"}, 2, {"--checkpoint is required"}},
      {{"average", "run"}, 2, {"--out is required"}},
  });
}

// Two datasets, one of them prepared with the other's tokenizer, and what may be wrong with that.
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
  // The held-out text of both, and of one of them.
  const auto targets = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"evaluate", "--checkpoint", "mixed", "--split", "valid", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Finished done = run_weft(scratch_.path(), arguments);
    EXPECT_EQ(done.exit, 0) << done.err;
    return nlohmann::json::parse(done.out)["perplexity"]["tokens"].get<int64_t>();
  };
  const int64_t one = targets({"--set", "data.mixture=[]"});
  EXPECT_EQ(targets({}), 2 * one + 1);  // both hold the same text out
  EXPECT_EQ(targets({"--set", "data.directory=more", "--set", "data.mixture=[]"}), one);
  expect({{"evaluate", "--checkpoint", "mixed", "--set", "data.directory=more"}, 2, {"more is mixed with itself"}});
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
  const Finished done = run_weft(
      scratch_.path(), {"evaluate", "pairs.yaml", "--set", mixture, "--split", "valid", "--baselines", "--json"});
  ASSERT_EQ(done.exit, 0) << done.err;
  const auto report = nlohmann::json::parse(done.out);
  EXPECT_EQ(report["pairs"], 4);  // two of each
  EXPECT_EQ(report["references"], "text");
}

TEST_F(Commands, JobFiles) {
  scratch_.write("empty.yaml", "");
  scratch_.write("binary.yaml", std::string("name: \0x\n", 9));
  scratch_.write("latin.yaml", "name: caf\xe9\n");
  scratch_.write("broken.yaml", "name: [a\nmodel: {\n");
  scratch_.write("wrong.yaml", "name: x\nmodel: {widht: 3, heads: 2.0, norm_placement: prae}\nbatch: 5\nname: y\n");
  for (const char* command : {"train", "prepare", "validate", "inspect", "evaluate"}) {
    expect_all({
        {{command, "empty.yaml"}, 2, {"data", "directory"}},
        {{command, "binary.yaml"}, 2, {"binary.yaml"}},
        {{command, "latin.yaml"}, 2, {"latin.yaml: byte 9 is not UTF-8 text"}},
        {{command, "broken.yaml"}, 2, {"broken.yaml:"}},
        {{command, "wrong.yaml"},
         2,
         {"wrong.yaml:2:9: model.widht: unknown key; did you mean 'width'?", "model.heads: expected an integer",
          "got 2.0 (a number)", "expected one of pre, post", "wrong.yaml:3:8: batch: expected a section",
          "wrong.yaml:4:1: name"}},
        {{command, "gpt.yaml", "--set", "nonsense"}, 2, {"nonsense"}},
    });
    if (std::string_view(command) == "prepare") continue;  // looks at data and tokenizers alone
    expect_all({
        {{command, "gpt.yaml", "--set", "model.heads=3"}, 2, {"model.heads: 3 does not divide model.width 16"}},
        {{command, "gpt.yaml", "--set", "batch.context_length=9"},
         2,
         {"batch.context_length: 9", "8 positions", "max_length"}},
    });
  }
  expect({{"train", "nowhere.yaml"}, 2, {"nowhere.yaml", "No such file"}});
  expect({{"inspect", "nowhere.yaml"}, 3, {"nowhere.yaml: no such file"}});
  expect({{"train", "."}, 2, {"is a directory"}});
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

// Bytes that are no UTF-8 are kept by kinds that keep any bytes.
TEST_F(Commands, BytesThatAreNoUtf8AreKept) {
  scratch_.write("train.txt", "caf\xe9 ol\xe9 caf\xe9 ol\xe9\n");
  must({"prepare", "gpt.yaml"});
  must({"inspect", "data", "--verify"});
}

TEST_F(Commands, PlacesThatCannotBeWritten) {
  train_both();
  expect_all({
      {{"prepare", "gpt.yaml", "--set", "data.directory=train.txt/below"}, 3, {"train.txt/below", "Not a directory"}},
      {{"prepare", "gpt.yaml", "--set", "data.directory=train.txt"}, 3, {"train.txt", "Not a directory"}},
      {{"train", "gpt.yaml", "--set", "run_dir=train.txt/below"}, 3, {"train.txt/below", "Not a directory", "run_dir"}},
      {{"train", "gpt.yaml", "--set", "run_dir=/proc/weft"}, 3, {"/proc/weft", "hint: set run_dir"}},
      {{"validate", "gpt.yaml", "--set", "run_dir=train.txt/below"}, 3, {"run_dir: nothing can be made", "train.txt"}},
      {{"validate", "gpt.yaml", "--set", "run_dir=/proc/weft"}, 3, {"run_dir: nothing can be made in /proc"}},
      {{"average", "run", "--out", "train.txt/below"}, 3, {"train.txt/below", "Not a directory"}},
      {{"average", "run", "--out", "trun"}, 3, {"trun: exists already"}},
      {{"sample", "train.txt/below"}, 3, {"train.txt/below"}},
      {{"evaluate", "pairs.yaml", "--split", "valid", "--translations", "train.txt/below"}, 3, {"train.txt/below"}},
  });
  const std::vector<std::vector<std::string>> printing = {
      {"translate", "--checkpoint", "trun"},
      {"generate", "--checkpoint", "run", "--prompt", "a"},
      {"inspect", "run"},
      {"evaluate", "gpt.yaml", "--split", "valid", "--json"},
  };
  for (const auto& arguments : printing) {
    const Finished done = run_weft(scratch_.path(), arguments, "a 1\n", "/dev/full");
    EXPECT_EQ(done.exit, 3) << joined(arguments);
    EXPECT_NE(done.err.find("write standard output: No space left on device"), std::string::npos) << done.err;
  }
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
        {on("tdata"), 2, {"tdata was prepared otherwise", "data.format was", "hint:"}},
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
      {{"inspect", "otherids", "--verify"}, 3, {"otherids/tokenizer.json"}},
      {{"inspect", "data/train-00000.h5"}, 2, {"part of a dataset", "hint: give the directory"}},
      {{"inspect", "run/metrics.jsonl"}, 2, {"nothing that can be shown", "hint:"}},
      {{"inspect", "data/dataset.json"}, 2, {"hint: give the directory"}},
      {{"inspect", "nowhere"}, 3, {"nowhere: no such file"}},
  });
}

TEST_F(Commands, CheckpointsThatDoNotFit) {
  train_both();
  const std::string step = "run/checkpoints/step-00000002";
  fs::copy(scratch_ / "run", scratch_ / "uncommitted", fs::copy_options::recursive);
  fs::remove(scratch_ / "uncommitted/checkpoints/step-00000002/manifest.json");
  fs::copy(scratch_ / "run", scratch_ / "damaged", fs::copy_options::recursive);
  fs::resize_file(scratch_ / "damaged/checkpoints/step-00000002/rank-00000.h5", 3000);
  const auto resume = [](const std::string& from) {
    return std::vector<std::string>{"train", "gpt.yaml", "--set", "run_dir=newrun", "--resume", from};
  };
  const auto init = [](const std::string& job, const std::string& from) {
    return std::vector<std::string>{"train", job, "--set", "run_dir=newrun", "--set", "train.init_from=" + from};
  };
  expect_all({
      {resume("nowhere"), 3, {"nowhere: no such checkpoint directory"}},
      {resume("uncommitted/checkpoints/step-00000002"), 3, {"not a committed checkpoint"}},
      {resume("uncommitted"), 3, {"run's directory, not a checkpoint", "hint: give one of"}},
      {resume("damaged/checkpoints/step-00000002"), 3, {"rank-00000.h5"}},
      {resume("train.txt"), 3, {"train.txt: no such checkpoint directory"}},
      {{"train", "gpt.yaml", "--set", "run_dir=damaged"}, 3, {"none of the 1 checkpoints", "is intact", "hint:"}},
      {{"train", "gpt.yaml", "--resume", "never"}, 3, {"holds checkpoints of an earlier run", "another run_dir"}},
      {{"train", "gpt.yaml", "--set", "train.max_steps=9"},
       2,
       {"train.max_steps: 2 -> 9", "allow_changes=[train.max_steps]"}},
      {init("gpt.yaml", "nowhere"), 3, {"train.init_from: nowhere: no committed checkpoint here", "hint:"}},
      {init("pairs.yaml", step),
       2,
       {"task: translation, but run/checkpoints/step-00000002, which train.init_from begins from, is gpt",
        "tokenizer.kind: chars", "remove it"}},
  });
  for (const char* command : {"translate", "generate", "evaluate"}) {
    expect_all({
        {{command, "--checkpoint", "nowhere"}, 3, {"nowhere: no committed checkpoint here", "hint:"}},
        {{command, "--checkpoint", "uncommitted"}, 3, {"uncommitted: no committed checkpoint here"}},
        {{command, "--checkpoint", "damaged"}, 3, {"rank-00000.h5", "no committed checkpoint here"}},
        {{command, "--checkpoint", "train.txt"}, 3, {"train.txt: no committed checkpoint here"}},
    });
  }
  expect_all({
      {{"translate", "--checkpoint", "run"}, 2, {"holds a gpt model", "hint: use weft generate"}},
      {{"generate", "--checkpoint", "trun"}, 2, {"holds a translation model", "hint: use weft translate"}},
      {{"average", "nowhere", "--out", "mean"}, 3, {"nowhere: no such directory"}},
      {{"average", "uncommitted", "--out", "mean"}, 3, {"no checkpoint to average here", "hint:"}},
      {{"average", "run", "--last-epochs", "3", "--out", "mean"}, 3, {"no checkpoint to average here"}},
      {{"average", step, "trun/checkpoints/step-00000002", "--out", "mean"}, 3, {"hold other models"}},
      {{"import-hf", "nowhere", "model"}, 3, {"nowhere"}},
      {{"import-hf", "run", "model"}, 3, {"run/config.json"}},
      {{"export-hf", "uncommitted", "model"}, 3, {"uncommitted: no committed checkpoint here"}},
      {{"export-hf", "run", "data"}, 3, {"data: exists already"}},
      {{"merge", "run", "model"}, 2, {"there are no adapters to merge"}},
      {{"inspect", "uncommitted"}, 3, {"no committed checkpoint here"}},
      {{"inspect", "damaged"}, 3, {"rank-00000.h5"}},
  });
}

TEST_F(Commands, TextToTranslateAndContinue) {
  train_both();
  const std::vector<std::string> translate = {"translate", "--checkpoint", "trun"};
  const auto with = [&](std::initializer_list<std::string> more) {
    std::vector<std::string> words = translate;
    words.insert(words.end(), more);
    return words;
  };
  expect_all({
      {translate, 0, {}, ""},
      {translate, 0, {"line 2: it has ", "the model's longest is 12", "1 of 2 lines"}, "ab 1\nab 1 ab 1 ab 1 ab 1\n"},
      {translate, 3, {"line 2: ", "unknown \"x\""}, "ab 1\nxyz\n"},
      {with({"--beam", "2", "--temperature", "0.5"}), 2, {"temperature was given, which method beam"}, "ab\n"},
      {with({"--beam", "0"}), 2, {"--search beam=0: beam: expected an integer >= 1"}, "ab\n"},
      {with({"--top-p", "3"}), 2, {"top_p: expected a number from 0 to 1, got 3"}, "ab\n"},
      {with({"--temperature", "-1"}), 2, {"temperature: expected a number >= 0, got -1"}, "ab\n"},
      {with({"--n-best", "6"}), 2, {"n_best 6 is more than beam 5"}, "ab\n"},
      // A beam of one is greedy search, however it was given.
      {with({"--search", "beam=1", "--n-best", "2"}), 2, {"greedy search yields one text, not n_best 2"}, "ab\n"},
      {with({"--search", "bem=2"}), 2, {"bem: unknown key; did you mean 'beam'?"}, "ab\n"},
      {{"generate", "--checkpoint", "run", "--prompt", "more than eight bytes"}, 2, {"8 positions", "hint: shorten"}},
      {{"generate", "--checkpoint", "run", "--max-tokens", "-5"}, 2, {"-5"}},
      {{"generate", "--checkpoint", "run", "--search", "beam=2", "--n-best", "3"}, 2, {"n_best 3 is more than beam 2"}},
      {{"evaluate", "gpt.yaml", "--split", "valid", "--bleu", "tokenizer=none"}, 2, {"--bleu", "for translation"}},
      {{"evaluate", "gpt.yaml", "--split", "valid", "--beam", "2"}, 2, {"options of the search", "for translation"}},
      {{"evaluate", "pairs.yaml", "--split", "valid", "--beam", "2", "--n-best", "3"}, 2, {"n_best 3 is more"}},
      {{"evaluate", "pairs.yaml", "--split", "valid", "--bleu", "x=1"}, 2, {"--bleu x=1: x: unknown key"}},
      {{"evaluate", "gpt.yaml", "--split", "valid", "--stride", "99"}, 2, {"stride", "99"}},
      {{"evaluate", "gpt.yaml", "--split", "valid", "--max-sequences", "-3"}, 2, {"--max-sequences"}},
      {{"evaluate"}, 2, {"nothing to evaluate", "hint:"}},
  });
  scratch_.write("prompts", "the b\n\nthe bo\n");
  scratch_.write("nothing", "");
  const auto generate = [](std::initializer_list<std::string> more) {
    std::vector<std::string> words = {"generate", "--checkpoint", "run", "--max-tokens", "2"};
    words.insert(words.end(), more);
    return words;
  };
  expect_all({
      {generate({"--prompts", "nowhere"}), 3, {"nowhere: cannot be read"}},
      {generate({"--prompts", "nothing"}), 3, {"nothing: no prompt in it"}},
      {generate({"--prompts", "prompts", "--prompt", "a"}), 2, {"--prompt"}},
      {generate({"--candidates", "0"}), 2, {"--candidates"}},
      {generate({"--candidates", "3", "--prompt", "more than eight bytes"}), 3, {"8 positions", "hint: shorten it"}},
      {generate({"--stop", ""}), 2, {"stop_strings is empty"}},
      {generate({"--repetition-penalty", "0"}), 2, {"repetition_penalty"}},
  });
  // Prompts from a file are the same as from the command line.
  const std::string greedy = "--temperature=0";
  const std::string by_file = expect({generate({"--prompts", "prompts", greedy}), 0, {}}).out;
  EXPECT_EQ(by_file, expect({generate({"--prompts", "-", greedy}), 0, {}, "the b\n\nthe bo\n"}).out);
  EXPECT_EQ(by_file,
            expect({generate({"--prompt", "the b", "--prompt", "", "--prompt", "the bo", greedy}), 0, {}}).out);
  // The likeliest next token is what greedy search takes; a text ends before it if it is a stop string.
  const auto next =
      nlohmann::json::parse(expect({generate({"--prompt", "the b", "--candidates", "1", "--json"}), 0, {}}).out);
  const auto text = [&](std::initializer_list<std::string> more) {
    std::vector<std::string> words = {"generate", "--checkpoint", "run", "--prompt", "the b", "--json", greedy};
    words.insert(words.end(), more);
    return nlohmann::json::parse(expect({words, 0, {}}).out);
  };
  EXPECT_EQ(text({"--max-tokens", "1"})["tokens"], nlohmann::json::array({next["token"]}));
  const auto stopped = text({"--stop", next["text"].get<std::string>()});
  EXPECT_EQ(stopped["text"], "");
  EXPECT_EQ(stopped["ending"], "stop_string");
  EXPECT_EQ(expect({translate, 0, {}, "\nab 1"}).out.substr(0, 1), "\n");  // an empty line translates to one
}

TEST_F(Commands, TextToJudge) {
  train_both();
  scratch_.write("questions", R"({"ctx": "the", "endings": ["boat", "went"], "label": 1})"
                              "\n");
  scratch_.write("long", R"({"ctx": "the", "endings": ["boat went by", "went"], "label": 1})"
                         "\n");
  scratch_.write("broken", "{}\n");
  expect_all({
      {{"choose", "questions"}, 2, {"--checkpoint is required"}},
      {{"choose", "nowhere", "--checkpoint", "run"}, 3, {"nowhere", "No such file"}},
      {{"choose", "broken", "--checkpoint", "run"}, 3, {"broken:1: not a question", "hint: expected {\"ctx\""}},
      {{"choose", "long", "--checkpoint", "run"}, 3, {"13 tokens", "8 positions"}},
      {{"choose", "questions", "--checkpoint", "trun"}, 2, {"holds a translation model"}},
      {{"embed", "--checkpoint", "run"}, 3, {"there is no text"}},
      {{"embed", "--checkpoint", "run"}, 3, {"text 2 is empty"}, "a\n\nb\n"},
      {{"embed", "--checkpoint", "trun"}, 3, {"text 1 has", "the model's longest is 12", "hint:"}, "ab 1 ab 1 ab 1\n"},
      {{"embed", "--checkpoint", "run", "--out", "no-folder/x.h5"}, 3, {"no-folder/x.h5"}, "a\n"},
  });
  const std::string report = expect({{"choose", "questions", "--checkpoint", "run"}, 0, {}}).out;
  EXPECT_NE(report.find("(likeliest per byte), 1 questions"), std::string::npos) << report;
  const auto json =
      nlohmann::json::parse(expect({{"choose", "questions", "--checkpoint", "run", "--json"}, 0, {}}).out);
  EXPECT_EQ(json["questions"], 1);
  const std::string cosines = expect({{"embed", "--checkpoint", "trun"}, 0, {}, "ab\nab\n"}).out;
  EXPECT_EQ(cosines, "  1.000  1.000  ab\n  1.000  1.000  ab\n");
  const auto vector = nlohmann::json::parse(expect({{"embed", "--checkpoint", "run", "--json"}, 0, {}, "boat\n"}).out);
  EXPECT_EQ(vector["text"], "boat");
  EXPECT_EQ(vector["vector"].size(), 16u);
}

// A full disk, end to end: nothing half-written is left.
TEST_F(Commands, NoSpace) {
  train_both();
  fs::create_directories(scratch_ / "full");
  const auto result = on_small_disk(scratch_ / "full", 256 << 10, [&] {
    fill_disk(scratch_ / "full", 8 << 10);
    expect_all({
        {{"prepare", "gpt.yaml", "--set", "data.directory=full/data"}, 3, {"full/data", "No space left on device"}},
        {{"average", "run", "--out", "full/mean"}, 3, {"full/mean", "No space left on device", "bytes are free"}},
    });
    const Finished sample = run_weft(scratch_.path(), {"sample", "full/sample"});
    EXPECT_EQ(sample.exit, 3);
    EXPECT_NE(sample.err.find("No space left on device"), std::string::npos) << sample.err;
    for (const auto& [name, what] : snapshot(scratch_ / "full")) EXPECT_FALSE(name.ends_with(".tmp")) << name;
    const Finished done = run_weft(scratch_.path(), {"train", "gpt.yaml", "--set", "run_dir=full/run"});
    EXPECT_EQ(done.exit, 3);
    EXPECT_NE(done.err.find("full/run/checkpoints: "), std::string::npos) << done.err;
    EXPECT_NE(done.err.find("bytes are free, but"), std::string::npos) << done.err;
    EXPECT_NE(done.err.find("hint: free some space"), std::string::npos) << done.err;
  });
  if (result == ChildResult::NoMount) GTEST_SKIP() << kNoMount;
  EXPECT_EQ(result, ChildResult::Passed);
}

// What does not fit is known before the first step. The limit leaves room for the model and not for its batch.
TEST_F(Commands, NoMemory) {
  prepare_both();
  const auto result = in_child([&] {
    const std::vector<std::string> job = {"train", "gpt.yaml",
                                          "--set", "run_dir=newrun",
                                          "--set", "model.max_length=2000",
                                          "--set", "batch.sequences=60000",
                                          "--set", "batch.order=random",
                                          "--set", "batch.micro_batch_tokens=0",
                                          "--set", "batch.context_length=8"};
    const rlimit limit{.rlim_cur = 700 << 20, .rlim_max = 700 << 20};
    setrlimit(RLIMIT_AS, &limit);
    const Finished done = run_weft(scratch_.path(), job);
    EXPECT_EQ(done.exit, 2) << done.err;
    EXPECT_NE(done.err.find("there is not enough memory for the largest step"), std::string::npos) << done.err;
    EXPECT_NE(done.err.find("hint: lower batch.micro_batch_tokens"), std::string::npos) << done.err;
    return ChildResult::Passed;
  });
  EXPECT_EQ(result, ChildResult::Passed);
}

// What `weft inspect` shows of where a checkpoint comes from.
TEST_F(Commands, WeightsOfAnotherFormat) {
  train_both();
  expect_all({
      {{"generate", "--checkpoint", "run", "--weights", "int4"}, 2, {"--weights"}},
  });
  const std::string report = expect({{"evaluate", "gpt.yaml", "--split", "valid", "--weights", "int8"}, 0, {}}).out;
  EXPECT_NE(report.find("\nint8 weights: perplexity "), std::string::npos) << report;
  EXPECT_NE(report.find(" with the model's own: "), std::string::npos) << report;
  const std::vector<std::string> generate = {"generate", "--checkpoint",  "run", "--prompt", "the b", "--max-tokens",
                                             "2",        "--temperature", "0",   "--json"};
  const auto probability = [&](const std::string& format) {
    std::vector<std::string> words = generate;
    words.insert(words.end(), {"--weights", format});
    return nlohmann::json::parse(expect({words, 0, {}}).out).at("log_probability").get<double>();
  };
  const double own = probability("own");
  EXPECT_EQ(probability("f32"), own);
  for (const char* format : {"bf16", "int8"}) {
    EXPECT_NE(probability(format), own) << format;
    EXPECT_NEAR(probability(format), own, 0.05 * std::abs(own)) << format;
  }
}

TEST_F(Commands, InspectTellsTheOrigin) {
  must({"prepare", "gpt.yaml"});
  must({"train", "gpt.yaml", "--set", "model.width=32"});
  const Finished shown = run_weft(scratch_.path(), {"inspect", "run", "--job"});
  EXPECT_EQ(shown.exit, 0);
  for (const char* piece :
       {"weft 0.", ", revision ", "HDF5: compiled with 1.", "oneDNN: compiled with ", "yaml-cpp: compiled with ",
        "MPI: compiled with ", "--set model.width=32", "  width: 32\n"}) {
    EXPECT_NE(shown.out.find(piece), std::string::npos) << piece << "\n" << shown.out;
  }
  const Finished again = run_weft(scratch_.path(), {"train", "gpt.yaml", "--set", "model.width=32"});
  EXPECT_EQ(again.exit, 0);
  EXPECT_NE(again.err.find("nothing to do: step 2 of 2"), std::string::npos) << again.err;
}

}  // namespace
}  // namespace weft
