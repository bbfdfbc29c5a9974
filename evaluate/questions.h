// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/files.h"

namespace weft {

// How a question is answered: by the right one of several endings, or by the last word of a text.
enum class QuestionForm : uint8_t { Endings, LastWord };

// A beginning and its possible endings, one of which is right; of a text, all before its last word, and that word.
struct Question {
  std::string context;
  std::vector<std::string> endings;
  size_t right = 0;
};

struct QuestionSet {
  std::string name;  // of the file, without its endings: hellaswag_val
  QuestionForm form = QuestionForm::Endings;
  std::vector<Question> questions;
};

// Reads one JSON object a line, each in one of these forms; the file may be compressed. `most`: questions that are
// taken, from its beginning; 0: all.
//   {"ctx", "endings", "label"}                                     HellaSwag (Zellers et al. 2019)
//   {"question", "choices": {"text", "label"}, "answerKey"}         ARC (Clark et al. 2018)
//   {"question": {"stem", "choices": [{"text", "label"}, ...]}, "answerKey"}   ARC, as first published
//   {"goal", "sol1", "sol2", "label"}                               PIQA (Bisk et al. 2020)
//   {"text"}                                                        LAMBADA (Paperno et al. 2016): its last word
// The questions of ARC and PIQA stand in the words of Eleuther's lm-evaluation-harness: "Question: ...\nAnswer:".
// DataError naming a line that is none of these, or whose answers are of another form than those before it.
QuestionSet read_questions(const fs::path& path, int64_t most = 0);

}  // namespace weft
