// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/config/fields.h"
#include "data/tokenizer/word_forms.h"

namespace weft {

enum class TokenizerKind {
  Bpe,            // byte-level BPE, learnt from the text
  Bytes,          // 256 ids, one a byte; nothing to learn
  Chars,          // one id a code point, sorted by code point
  Words,          // one id a whitespace-separated word
  Gpt2,           // loaded from GPT-2's vocab.json + merges.txt
  Tiktoken,       // loaded from a .tiktoken rank file
  HuggingFace,    // loaded from a tokenizer.json of Hugging Face's tokenizers: BPE or unigram
  SentencePiece,  // loaded from a SentencePiece model: BPE or unigram
};
template <>
struct EnumNames<TokenizerKind> {
  static constexpr auto kNames =
      enum_names<TokenizerKind>("bpe", "bytes", "chars", "words", "gpt2", "tiktoken", "huggingface", "sentencepiece");
};

// Whether this build reads SentencePiece models: false if libsentencepiece was not found.
bool has_sentencepiece();

// The way in which a tokenizer is learnt or loaded. check() reports contradictions; TokenizerTrainer calls it.
struct TokenizerConfig {
  TokenizerKind kind = TokenizerKind::Bpe;
  int64_t vocabulary = 0;
  int64_t merges = 0;
  std::string pattern;
  bool lowercase = false;
  bool strip_punctuation = false;
  int64_t min_frequency = 2;
  int64_t sample_bytes = 0;
  int64_t max_pretokens = int64_t{1} << 23;
  std::string vocab_file;
  std::string merges_file;
  std::string ranks_file;
  std::string model_file;
  std::vector<std::string> specials;
  std::string bos;
  std::string eos;
  std::string pad;
  std::string unk;

  template <class Visitor>
  void fields(Visitor& v) {
    v.field("kind", kind, "bpe, bytes, chars and words are made from the text; the others are loaded from files.");
    v.field("vocabulary", vocabulary,
            "Ids at most, bytes and specials included (bpe, words). 0: as many as `merges` says, or no limit.",
            Range{.min = 0, .max = 1 << 24});
    v.field("merges", merges, "Merges to learn at most (bpe), instead of `vocabulary`.",
            Range{.min = 0, .max = 1 << 24});
    v.field(
        "pattern", pattern,
        "What splits text into the pretokens that merges stay within (bpe, tiktoken): gpt2, gpt4, o200k, none, or a "
        "regular expression (PCRE2). Empty: gpt4 if merges are learnt; that of a rank file that OpenAI published.");
    v.field("lowercase", lowercase, "Words that differ in case alone are one (words); decoded text is in lower case.");
    v.field("strip_punctuation", strip_punctuation,
            "Punctuation at the beginning and end of words is left out (words), and is not in decoded text.");
    v.field("min_frequency", min_frequency, "A pair (bpe) or word (words) that is seen less often is not learnt.",
            Range{.min = 1});
    v.field("sample_bytes", sample_bytes,
            "Bytes of training text to learn from, in whole records drawn with equal chances; they are held in memory. "
            "0: all of the text, which is not.",
            Range{.min = 0});
    v.field("max_pretokens", max_pretokens,
            "Different pretokens that are counted at the same time, at most, about 200 bytes of memory each (bpe, "
            "words). Where there are more, the rarer half is forgotten.",
            Range{.min = 2});
    v.field("vocab_file", vocab_file, "vocab.json (gpt2).");
    v.field("merges_file", merges_file, "merges.txt (gpt2).");
    v.field("ranks_file", ranks_file, "The .tiktoken file (tiktoken).");
    v.field("model_file", model_file, "tokenizer.json (huggingface), or the .model file (sentencepiece).");
    v.field("specials", specials, "Names of special tokens, in the order of their ids.");
    v.field("bos", bos, "The special that begins a text; empty: none.");
    v.field("eos", eos, "The special that ends a text or a document; empty: none.");
    v.field("pad", pad, "The special that pads; empty: none.");
    v.field("unk", unk,
            "The special that stands for what chars and words do not know; empty: unknown text is an error.");
  }

  bool is_loaded() const { return kind >= TokenizerKind::Gpt2; }
  // The pattern that cuts text before merges are learnt from it.
  std::string learnt_pattern() const { return pattern.empty() ? "gpt4" : pattern; }
  WordForms word_forms() const { return {.lowercase = lowercase, .strip_punctuation = strip_punctuation}; }

  // ConfigError if fields contradict each other or a field that `kind` needs is missing.
  void check() const;
};

}  // namespace weft
