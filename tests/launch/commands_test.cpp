// SPDX-License-Identifier: Apache-2.0
// The program when something is wrong: the exit code of the documentation, a message that says what, where and what to
// do, nothing half-written, inputs as they were. The tests run the program itself.
#include "tests/launch/fixture/commands.h"

#include <sys/resource.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/support/small_disk.h"

namespace weft {
namespace {

using namespace test;

TEST_F(Commands, CommandLine) {
  expect_all({
      {{}, 2, {"subcommand is required"}},
      {{"trian", "gpt.yaml"}, 2, {"weft has no command 'trian'", "did you mean 'train'?"}},
      {{"train"}, 2, {"job is required"}},
      {{"train", "gpt.yaml", "--frobnicate"}, 2, {"--frobnicate"}},
      {{"validate", "gpt.yaml", "--ranks", "0"}, 2, {"--ranks"}},
      {{"translate"}, 2, {"--checkpoint is required"}},
      {{"average", "run"}, 2, {"--out is required"}},
      {{"jobs", "sample-translatoin"}, 2, {"'sample-translatoin'", "did you mean 'sample-translation'?"}},
      {{"completion"}, 2, {"shell is required"}},
      {{"completion", "fish"}, 2, {"fish not in {bash,zsh}"}},
  });
}

// Job files that are wrong, and datasets whose tokenizers do not belong together.
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
    if (std::string_view(command) == "prepare") continue;  // prepare reads only data and tokenizers
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

TEST_F(Commands, PlacesThatCannotBeWritten) {
  train_both();
  expect_all({
      {{"prepare", "gpt.yaml", "--set", "data.directory=train.txt/below"},
       3,
       {"create train.txt: it is there, and no directory"}},
      {{"prepare", "gpt.yaml", "--set", "data.directory=train.txt"},
       3,
       {"create train.txt: it is there, and no directory"}},
      {{"train", "gpt.yaml", "--set", "run_dir=train.txt/below"}, 3, {"train.txt/below", "Not a directory", "run_dir"}},
      {{"train", "gpt.yaml", "--set", "run_dir=/proc/weft"}, 3, {"/proc/weft", "hint: set run_dir"}},
      {{"validate", "gpt.yaml", "--set", "run_dir=train.txt/below"},
       3,
       {"run_dir: cannot create anything", "train.txt"}},
      {{"validate", "gpt.yaml", "--set", "run_dir=/proc/weft"}, 3, {"run_dir: cannot create anything in /proc"}},
      {{"average", "run", "--out", "train.txt/below"}, 3, {"create train.txt: it is there, and no directory"}},
      {{"average", "run", "--out", "trun"}, 3, {"trun: exists already"}},
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
      {{"average", step, "trun/checkpoints/step-00000002", "--out", "mean"}, 3, {"hold different models"}},
      {{"import-hf", "nowhere", "model"}, 3, {"nowhere"}},
      {{"import-hf", "run", "model"}, 3, {"run/config.json"}},
      {{"export-hf", "uncommitted", "model"}, 3, {"uncommitted: no committed checkpoint here"}},
      {{"export-hf", "run", "data"}, 3, {"data: exists already"}},
      {{"export-ct2", "uncommitted", "model"}, 3, {"uncommitted: no committed checkpoint here"}},
      {{"export-ct2", "run", "data"}, 3, {"data: exists already"}},
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
      {with({"--beam", "2", "--temperature", "0.5"}), 2, {"temperature has no effect with method beam"}, "ab\n"},
      {with({"--beam", "0"}), 2, {"--search beam=0: beam: expected an integer >= 1"}, "ab\n"},
      {with({"--top-p", "3"}), 2, {"top_p: expected a number from 0 to 1, got 3"}, "ab\n"},
      {with({"--temperature", "-1"}), 2, {"temperature: expected a number >= 0, got -1"}, "ab\n"},
      {with({"--n-best", "6"}), 2, {"n_best 6 is more than beam 5"}, "ab\n"},
      // A beam of one is greedy search, however it was given.
      {with({"--search", "beam=1", "--n-best", "2"}), 2, {"greedy search yields one text, not n_best 2"}, "ab\n"},
      {with({"--search", "bem=2"}), 2, {"bem: unknown key; did you mean 'beam'?"}, "ab\n"},
      {{"generate", "--checkpoint", "run", "--beam", "2", "--prompt", "more than eight bytes"},
       2,
       {"8 positions", "hint: shorten"}},
      {{"generate", "--checkpoint", "run", "--max-tokens", "-5"}, 2, {"-5"}},
      {{"generate", "--checkpoint", "run", "--search", "beam=2", "--n-best", "3"}, 2, {"n_best 3 is more than beam 2"}},
      {{"evaluate", "gpt.yaml", "--split", "valid", "--bleu", "tokenizer=none"}, 2, {"--bleu", "for translation"}},
      {{"evaluate", "gpt.yaml", "--split", "valid", "--chrf", "word_order=2"}, 2, {"--chrf", "for translation"}},
      {{"evaluate", "pairs.yaml", "--split", "valid", "--chrf", "beta=0"}, 2, {"--chrf beta=0: beta: expected"}},
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
      {generate({"--prompts", "nowhere"}), 3, {"nowhere: No such file"}},
      {generate({"--prompts", "nothing"}), 3, {"nothing: holds nothing"}},
      {generate({"--prompts", "prompts", "--prompt", "a"}), 2, {"--prompt"}},
      {generate({"--candidates", "0"}), 2, {"--candidates"}},
      {generate({"--candidates", "3", "--prompt", "more than eight bytes"}), 3, {"8 positions", "hint: shorten it"}},
      {generate({"--prompt", "a", "--prompt", "more than eight bytes"}),
       0,
       {"prompt 2 has 21 tokens; the model has 8 positions and sees the last 5"}},
      {{"generate", "--checkpoint", "run", "--beam", "2", "--min-length", "9", "--max-tokens", "9", "--prompt",
        "the b"},
       0,
       {"1 text stopped early, after 4 of 9 tokens: prompt and text fill the model's 8 positions"}},
      {{"generate", "--checkpoint", "run", "--beam", "2", "--min-length", "9", "--max-tokens", "9", "--prompt", "the b",
        "--prompt", "the"},
       0,
       {"2 texts stopped early, the shortest after 4 of 9 tokens"}},
      {generate({"--stop", ""}), 2, {"stop_strings is empty"}},
      {generate({"--repetition-penalty", "0"}), 2, {"repetition_penalty"}},
  });
  // Prompts from a file give the same texts as prompts from the command line.
  const std::string greedy = "--temperature=0";
  const std::string by_file = expect({generate({"--prompts", "prompts", greedy}), 0, {}}).out;
  EXPECT_EQ(by_file, expect({generate({"--prompts", "-", greedy}), 0, {}, "the b\n\nthe bo\n"}).out);
  EXPECT_EQ(by_file,
            expect({generate({"--prompt", "the b", "--prompt", "", "--prompt", "the bo", greedy}), 0, {}}).out);
  // A text grows beyond the model's 8 positions.
  const auto long_text = nlohmann::json::parse(expect({{"generate", "--checkpoint", "run", "--prompt", "the b",
                                                        "--max-tokens", "50", "--min-length", "50", "--json"},
                                                       0,
                                                       {}})
                                                   .out);
  EXPECT_EQ(long_text["tokens"].size(), 50u);
  // Greedy search takes the likeliest next token; a text ends before that token if it is a stop string.
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
  EXPECT_EQ(expect({translate, 0, {}, "\nab 1"}).out.substr(0, 1), "\n");  // an empty line stays empty
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
  EXPECT_NE(report.find("(likeliest per byte), 1 question\n"), std::string::npos) << report;
  const auto json =
      nlohmann::json::parse(expect({{"choose", "questions", "--checkpoint", "run", "--json"}, 0, {}}).out);
  EXPECT_EQ(json["questions"], 1);
  const std::string cosines = expect({{"embed", "--checkpoint", "trun"}, 0, {}, "ab\nab\n"}).out;
  EXPECT_EQ(cosines, "  1.000  1.000  ab\n  1.000  1.000  ab\n");
  const auto vector = nlohmann::json::parse(expect({{"embed", "--checkpoint", "run", "--json"}, 0, {}, "boat\n"}).out);
  EXPECT_EQ(vector["text"], "boat");
  EXPECT_EQ(vector["vector"].size(), 16u);
}

TEST_F(Commands, MapsOfVectors) {
  train_both();
  const std::vector<std::string> embed{"embed", "--checkpoint", "run"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.begin(), embed.begin(), embed.end());
    return words;
  };
  scratch_.write("mine.html", "<p>mine");
  expect_all({
      {with({"--map", "mine.html"}), 3, {"mine.html is there already"}, "a\nb\nc\n"},
      {with({"--map", "new.html"}), 3, {"a map of 2 vectors", "hint: give more of them"}, "a\nb\n"},
      {with({"--inputs"}), 2, {"--inputs", "--map"}, "a\n"},
      {with({"--inputs", "--map", "new.html", "--json"}), 2, {"--inputs", "--json"}, "a\n"},
      {with({"--inputs", "--map", "new.html"}), 3, {"--inputs takes one line, not 2"}, "a\nb\n"},
      {with({"--positions", "--tokens"}), 2, {"--positions", "--tokens"}},
  });
  const auto shows = [&](const std::vector<std::string>& words, const std::string& input, const std::string& shown) {
    const Finished done = run_weft(scratch_.path(), with(words), input);
    EXPECT_EQ(done.exit, 0) << done.err;
    EXPECT_NE(read_file(scratch_ / "new.html").find(shown), std::string::npos);
  };
  shows({"--map", "new.html"}, "a\nb\nab\n", R"("title":"3 texts")");
  shows({"--map", "new.html", "--positions"}, "", R"("title":"8 positions")");
  shows({"--map", "new.html", "--inputs"}, "ab\n", R"("title":"ab")");
  const std::string positions = expect({with({"--positions", "--json"}), 0, {}}).out;
  EXPECT_EQ(std::ranges::count(positions, '\n'), 8);
  EXPECT_EQ(nlohmann::json::parse(positions.substr(0, positions.find('\n')))["position"], "0");
}

// What cannot be shown or aligned, and files that stay as they are.
TEST_F(Commands, Attention) {
  train_both();
  expect_all({
      {{"attention", "--checkpoint", "run"}, 2, {"texts is required"}},
      {{"attention", "a", "b", "c", "--checkpoint", "trun"}, 2, {"3 texts; give a text"}},
      {{"attention", "a", "b", "--checkpoint", "run"}, 2, {"a language model: give one text"}},
      {{"attention", "a", "--checkpoint", "run", "--out", "a.png"}, 2, {"--out a.png", "hint: end it in .html"}},
      {{"attention", "a", "--checkpoint", "nowhere", "--out", "train.txt"}, 2, {"--out train.txt"}},
      {{"attention", " ", "--checkpoint", "trun"}, 3, {"the source is blank"}},
      {{"attention", "a", "--checkpoint", "trun", "--alignment-head", "1"}, 2, {"'1' is no head", "LAYER:HEAD"}},
      {{"attention", "a", "b", "--checkpoint", "trun", "--alignment-head", "9:0:read"}, 2, {"no head 0", "layer 9"}},
      {{"translate", "--checkpoint", "trun", "--alignment", "train.txt"}, 3, {"train.txt is there already"}, "a\n"},
      {{"translate", "--checkpoint", "trun", "--alignment-head", "0:0:read"}, 2, {"--alignment"}, "a\n"},
  });
  scratch_.write("mine.html", "<p>mine");
  scratch_.write("mine.json", "{}");
  for (const char* name : {"mine.html", "mine.json"}) {
    expect({{"attention", "a", "--checkpoint", "run", "--out", name}, 3, {"is there already"}});
  }
  must({"attention", "a b", "--checkpoint", "run", "--out", "new.html", "--out", "new.h5"});
  must({"attention", "a b", "--checkpoint", "run", "--out", "new.html"});
  expect({{"attention", "a", "--checkpoint", "run", "--out", "new.h5"}, 3, {"new.h5 is there already"}});
  const auto said = nlohmann::json::parse(expect({{"attention", "a b", "--checkpoint", "run", "--json"}, 0, {}}).out);
  EXPECT_EQ(said["text"]["tokens"].size(), 3u);
  const Finished translated =
      run_weft(scratch_.path(), {"translate", "--checkpoint", "trun", "--alignment", "new.txt"}, "a\n\na\n");
  EXPECT_EQ(translated.exit, 0) << translated.err;
  EXPECT_NE(translated.err.find("wrote new.txt, aligned by head 0:"), std::string::npos) << translated.err;
  const std::string lines = read_file(scratch_ / "new.txt");
  EXPECT_EQ(std::ranges::count(lines, '\n'), 3) << lines;
}

// A full disk, end to end: nothing half-written is left.
TEST_F(Commands, NoSpace) {
  train_both();
  fs::create_directories(scratch_ / "full");
  const auto result = on_small_disk(scratch_ / "full", 256 << 10, [&] {
    fill_disk(scratch_ / "full", 8 << 10);
    expect_all({
        {{"prepare", "gpt.yaml", "--set", "data.directory=full/data"}, 3, {"full/data", "No space left on device"}},
        {{"average", "run", "--out", "full/mean"}, 3, {"bytes are free, but the weights of full/mean need"}},
    });
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

// A step that does not fit is found before the first step. The limit leaves room for the model but not for its batch.
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

// Decoding with weights of another format changes probabilities a little; f32 changes nothing for an fp32 model.
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

TEST_F(Commands, InspectShowsTheOrigin) {
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
  EXPECT_EQ(again.err.find("another job"), std::string::npos) << again.err;
}

TEST_F(Commands, AFinishedRunReportsThatItsJobDiffers) {
  must({"prepare", "gpt.yaml"});
  must({"train", "gpt.yaml", "--set", "model.width=32"});
  const Finished other = run_weft(scratch_.path(), {"train", "gpt.yaml", "--set", "model.width=48"});
  EXPECT_EQ(other.exit, 0);
  for (const char* piece : {"nothing to do: step 2 of 2", "is done, and was trained with another job",
                            "another name or run_dir", "\n  model.width: 32 -> 48"}) {
    EXPECT_NE(other.err.find(piece), std::string::npos) << piece << "\n" << other.err;
  }
}

}  // namespace
}  // namespace weft
