// SPDX-License-Identifier: Apache-2.0
// Files of questions as the benchmarks have them, and what is refused.
#include "evaluate/questions.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;

struct QuestionForms : testing::Test {
  QuestionSet read(const std::string& lines, int64_t most = 0) const {
    return read_questions(scratch.write("some.set.jsonl", lines), most);
  }
  Question only(const std::string& line) const { return read(line + "\n").questions.at(0); }
  Scratch scratch;
};

TEST_F(QuestionForms, HellaSwagHasLabelsAsNumbersOrTexts) {
  for (const char* label : {"1", "\"1\""}) {
    const Question question =
        only(std::string(R"({"ctx": "a", "endings": ["b", "c"], "ind": 4, "label": )") + label + "}");
    EXPECT_EQ(question.context, "a");
    EXPECT_EQ(question.endings, (std::vector<std::string>{"b", "c"}));
    EXPECT_EQ(question.right, 1u);
  }
}

TEST_F(QuestionForms, ArcHasEitherOfTwo) {
  for (
      const char* line :
      {R"({"id": "x", "question": "Why?", "choices": {"text": ["so", "thus", "no"], "label": ["A", "B", "C"]}, "answerKey": "B"})",
       R"({"question": {"stem": "Why?", "choices": [{"text": "so", "label": "1"}, {"text": "thus", "label": "2"},
            {"text": "no", "label": "3"}]}, "answerKey": "2"})"}) {
    std::string text(line);
    std::erase(text, '\n');
    const Question question = only(text);
    EXPECT_EQ(question.context, "Question: Why?\nAnswer:");
    EXPECT_EQ(question.endings, (std::vector<std::string>{"so", "thus", "no"}));
    EXPECT_EQ(question.right, 1u);
  }
}

TEST_F(QuestionForms, PiqaHasTwoSolutions) {
  const Question question = only(R"({"goal": "Open it.", "sol1": "Push.", "sol2": "Pull.", "label": 1})");
  EXPECT_EQ(question.context, "Question: Open it.\nAnswer:");
  EXPECT_EQ(question.endings, (std::vector<std::string>{"Push.", "Pull."}));
  EXPECT_EQ(question.right, 1u);
}

TEST_F(QuestionForms, LambadaAsksForTheLastWord) {
  const QuestionSet set = read("{\"text\": \"one two  three\"}\n{\"text\": \"a b\"}\n");
  EXPECT_EQ(set.form, QuestionForm::LastWord);
  EXPECT_EQ(set.questions[0].context, "one two ");
  EXPECT_EQ(set.questions[0].endings, std::vector<std::string>{"three"});
}

TEST_F(QuestionForms, LinesAreTakenFromTheBeginningOfANamedFile) {
  const std::string lines = "{\"text\": \"a b\"}\n{\"text\": \"c d\"}\nthis line is not read\n";
  const QuestionSet set = read(lines, 2);
  EXPECT_EQ(set.name, "some.set");
  ASSERT_EQ(set.questions.size(), 2u);
  EXPECT_EQ(set.questions[1].context, "c");
}

TEST_F(QuestionForms, InvalidLinesAreRefusedWithTheirLine) {
  const std::string good = R"({"ctx": "a", "endings": ["b", "c"], "label": "1"})";
  for (const char* bad :
       {"",
        "{",
        "[]",
        "5",
        "{}",
        R"({"ctx": "a", "endings": ["b"]})",
        R"({"ctx": "a", "endings": ["b"], "label": 0})",
        R"({"ctx": "a", "endings": ["b", "c"], "label": 2})",
        R"({"ctx": "a", "endings": ["b", "c"], "label": -1})",
        R"({"ctx": "a", "endings": ["b", ""], "label": 0})",
        R"({"ctx": "", "endings": ["b", "c"], "label": 0})",
        R"({"ctx": "a", "endings": "b", "label": 0})",
        R"({"ctx": "a", "endings": ["b", 3], "label": 0})",
        R"({"ctx": "a", "endings": ["b", "c"], "label": "x"})",
        R"({"goal": "a", "sol1": "b", "sol2": "c", "label": 2})",
        R"({"goal": "a", "sol1": "b", "label": 0})",
        R"({"text": "word"})",
        R"({"text": "a b "})",
        R"({"text": 1})",
        R"({"question": "a", "choices": {"text": ["b", "c"], "label": ["A", "B"]}, "answerKey": "C"})",
        R"({"question": "a", "choices": {"text": ["b"], "label": ["A", "B"]}, "answerKey": "B"})",
        R"({"question": {"stem": "a"}, "answerKey": "B"})"}) {
    EXPECT_NE(error_of<DataError>([&] { read(good + "\n" + bad + "\n"); }).find("jsonl:2: not a question"),
              std::string::npos)
        << bad;
  }
  EXPECT_NE(error_of<DataError>([&] { read(""); }).find("no question"), std::string::npos);
  EXPECT_NE(error_of<DataError>([&] { read(good + "\n{\"text\": \"a b\"}\n"); }).find("jsonl:2: endings"),
            std::string::npos);
}

}  // namespace
}  // namespace weft
