// SPDX-License-Identifier: Apache-2.0
// Conversations: how they are prepared, and that a language model is trained on what the assistant says.
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include "data/batches/batch_plan.h"
#include "data/batches/loader.h"
#include "data/dataset/inspect.h"
#include "tests/data/prepare/fixture.h"
#include "tests/support/error_of.h"

namespace weft {
namespace {

using namespace test;

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int32_t kStart = 256, kEnd = 257;

TokenizerConfig chat_tokenizer() { return {.kind = TokenizerKind::Bytes, .specials = {"<|im_start|>", "<|im_end|>"}}; }

// A template of two letters a message: short enough to be written down.
DataConfig config_of(const Scratch& scratch, const std::string& lines) {
  return {.directory = (scratch / "out").string(),
          .format = TextFormat::Messages,
          .train = {.files = {scratch.write("chats.jsonl", lines)}},
          .chat = {.name = ChatTemplateName::Own, .user_form = "U{text}", .assistant_form = "A{text}<|im_end|>"}};
}

std::string user(const char* text) { return fmt::format(R"({{"role": "user", "content": "{}"}})", text); }
std::string assistant(const char* text) { return fmt::format(R"({{"role": "assistant", "content": "{}"}})", text); }
std::string line(const std::vector<std::string>& messages) {
  return fmt::format("{{\"id\": 1, \"messages\": [{}]}}\n", fmt::join(messages, ", "));
}

std::shared_ptr<const Dataset> prepared(const DataConfig& config) {
  prepare({config, chat_tokenizer()});
  return std::make_shared<const Dataset>(Dataset::open(config.directory, DataSplit::Train));
}

const std::string kTwoTurns = line({user("ab"), assistant("c"), user("d"), assistant("ef")});

TEST(Chats, KeepContextAndWhatIsLearntApart) {
  const Scratch scratch;
  const auto dataset = prepared(config_of(scratch, kTwoTurns + "\n" + line({user("x"), assistant("")})));
  EXPECT_EQ(dataset->header().kind, DatasetKind::Chats);
  const IdPairs pairs = all_pairs(*dataset);
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[0].first, (Ids{'U', 'a', 'b', 'A', 'U', 'd', 'A'}));
  EXPECT_EQ(pairs[0].second, (Ids{'c', kEnd, 'e', 'f', kEnd}));
  EXPECT_THAT(dataset->read_turns(0), ElementsAre(4, 2, 3, 3));
  EXPECT_EQ(pairs[1].second, (Ids{kEnd}));
  EXPECT_THAT(dataset->read_turns(1), ElementsAre(3, 1));
  EXPECT_TRUE(verify_dataset(scratch / "out").empty());
  const std::string shown = show_records(scratch / "out", {.count = 1});
  EXPECT_THAT(shown, HasSubstr("context  \"UabA\""));
  EXPECT_THAT(shown, HasSubstr("learnt   \"ef<|im_end|>\""));
}

TEST(Chats, AreTargetsWhereTheAssistantSpeaksOnAnyNumberOfReplicas) {
  const Scratch scratch;
  const auto dataset =
      prepared(config_of(scratch, kTwoTurns + line({user("x"), assistant("yz")}) + line({assistant("w")})));
  const auto plan = make_batch_plan({.sequences = 3}, *dataset, 1);
  const auto reader = make_reader(dataset);
  const PlannedStep step = plan->step(0, 0);
  EXPECT_EQ(step.target_tokens(), 5 + 3 + 2);
  for (const int64_t dp : {1, 2, 4}) {
    int64_t targets = 0, found = 0;
    for (int64_t rank = 0; rank < dp; ++rank) {
      const StepBatches batches = read_step(step, *reader, rank, dp, 0);
      targets += batches.target_tokens();
      for (const MicroBatch& micro : batches.micro) {
        for (int64_t s = 0; s < micro.sequences(); ++s) {
          const auto begin = micro.input.tokens.begin() + micro.input.offsets[s];
          const auto end = micro.input.tokens.begin() + micro.input.offsets[s + 1];
          if (end - begin != 11) continue;
          ++found;
          const auto at = micro.targets.begin() + micro.input.offsets[s];
          EXPECT_EQ(Ids(begin, end), (Ids{'U', 'a', 'b', 'A', 'c', kEnd, 'U', 'd', 'A', 'e', 'f'}));
          EXPECT_EQ(Ids(at, at + 11), (Ids{-1, -1, -1, 'c', kEnd, -1, -1, -1, 'e', 'f', kEnd}));
        }
      }
    }
    EXPECT_EQ(targets, 10) << dp;
    EXPECT_EQ(found, 1) << dp;
  }
}

TEST(Chats, AreDroppedAndCountedWithoutAnAnswer) {
  const Scratch scratch;
  DataConfig config = config_of(scratch, kTwoTurns + line({user("x")}) + line({user("y")}));
  config.valid.files = {scratch.write("valid.jsonl", line({user("x")}) + kTwoTurns)};
  const auto dataset = prepared(config);
  EXPECT_EQ(dataset->num_pairs(), 1);
  EXPECT_EQ(dataset->header().dropped_pairs, 2);
  const Dataset valid = Dataset::open(config.directory, DataSplit::Valid);
  EXPECT_EQ(valid.num_pairs(), 1);
  EXPECT_EQ(valid.header().dropped_pairs, 1);
}

TEST(Chats, AreDroppedCutOrKeptWhereTheyAreTooLong) {
  const Scratch scratch;
  DataConfig config =
      config_of(scratch, kTwoTurns + line({user("x"), assistant("y")}) + line({user("0123456789"), assistant("")}));
  config.max_source_tokens = 10;
  EXPECT_EQ(prepared(config)->num_pairs(), 1);
  config.overlong_pairs = OverlongPairs::Truncate;
  config.directory = (scratch / "cut").string();
  const auto cut = prepared(config);
  ASSERT_EQ(cut->num_pairs(), 2) << "of the third nothing would be learnt";
  EXPECT_EQ(all_pairs(*cut)[0].second, (Ids{'c', kEnd, 'e'}));
  EXPECT_THAT(cut->read_turns(0), ElementsAre(4, 2, 3, 1));
  EXPECT_EQ(cut->header().dropped_pairs, 1);
  EXPECT_EQ(cut->header().truncated_pairs, 1);
  config.overlong_pairs = OverlongPairs::Keep;
  config.directory = (scratch / "kept").string();
  EXPECT_EQ(prepared(config)->num_pairs(), 3);
}

TEST(Chats, TeachTokenizersWhatIsSaidAlone) {
  const Scratch scratch;
  std::string lines;
  for (int i = 0; i < 20; ++i) lines += line({user("hei hei"), assistant("hei")});
  DataConfig config = config_of(scratch, lines);
  config.chat.user_form = "{text} ", config.chat.assistant_form = "{text}<|im_end|>";
  prepare({config,
           {.kind = TokenizerKind::Words, .min_frequency = 1, .specials = {"<|im_end|>", "<unk>"}, .unk = "<unk>"}});
  EXPECT_EQ(Dataset::open(config.directory, DataSplit::Train).header().source.vocabulary, 3) << "hei, and two specials";
}

TEST(Chats, AreNamedOrCountedWhereTheyAreBad) {
  const Scratch scratch;
  const auto error = [&](const std::string& text) {
    return error_of([&] { prepare({config_of(scratch, kTwoTurns + text), chat_tokenizer()}); });
  };
  EXPECT_THAT(error("{\"messages\": 1}\n"), HasSubstr("chats.jsonl:2: the object has no list \"messages\""));
  EXPECT_THAT(error(line({user("a"), R"({"role": "system", "content": "s"})"})),
              HasSubstr("chats.jsonl:2: a system's text stands behind other messages"));
  DataConfig config = config_of(
      scratch, kTwoTurns + "{\"messages\": 1}\n" + line({user("a"), R"({"role": "system", "content": "s"})"}));
  config.bad_records = BadRecordPolicy::Skip;
  config.max_bad_fraction = 1;
  EXPECT_EQ(prepared(config)->num_pairs(), 1);
}

TEST(Chats, RefuseContradictions) {
  const Scratch scratch;
  const auto refusal = [&](auto&& change) {
    DataConfig config = config_of(scratch, kTwoTurns);
    change(config);
    return error_of([&] { prepare({config, chat_tokenizer()}); });
  };
  EXPECT_THAT(refusal([](DataConfig& c) { c.max_target_tokens = 9; }), HasSubstr("max_source_tokens is for whole"));
  EXPECT_THAT(refusal([](DataConfig& c) { c.messages_field = ""; }), HasSubstr("`messages_field` is empty"));
  EXPECT_THAT(refusal([](DataConfig& c) { c.chat.user_form = "U"; }), HasSubstr("must have {text} once"));
  EXPECT_THAT(refusal([](DataConfig& c) { c.chat = {.name = ChatTemplateName::Llama3}; }),
              HasSubstr("needs the special \"<|start_header_id|>\""));
}

// A file whose turns are not those of its tokens is damaged, whatever its checksums say.
TEST(Chats, AreDamagedIfTheirTurnsDoNotFit) {
  const Scratch scratch;
  const IdPairs rows(6, {{1, 2, 3}, {4, 5}});
  const std::vector<std::string> turns = {"2 1 1 1", "2 1 1", "3 2 ", "5", "3 x", "3 2 0 0"};
  DatasetBuilder{.directory = scratch.path(), .of_rows = DatasetKind::Chats}.pairs(rows, DataSplit::Train, turns);
  const Dataset dataset = Dataset::open(scratch.path(), DataSplit::Train);
  EXPECT_THAT(dataset.read_turns(0), ElementsAre(2, 1, 1, 1));
  EXPECT_THAT(dataset.read_turns(2), ElementsAre(3, 2));
  for (const int64_t damaged : {1, 3, 4, 5}) {
    EXPECT_THAT(
        error_of([&] { dataset.read_turns(damaged); }),
        HasSubstr(fmt::format("the turns of conversation {} are {}", damaged, damaged > 3 ? "no counts" : "of")));
  }
}

}  // namespace
}  // namespace weft
