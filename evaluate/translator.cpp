#include "evaluate/translator.h"

#include <cstdio>

#include "data/dataset.h"
#include "data/tokenizer/tokenizer.h"
#include "evaluate/search/model_decoder.h"
#include "evaluate/search/search.h"

namespace weft {
namespace {

// A source row as preparation makes it: text with the specials that data.source_bos and data.source_eos ask for.
std::vector<int32_t> source_row(const std::string& text, const Tokenizer& tokenizer, const DataConfig& data) {
  std::vector<int32_t> row;
  if (data.source_bos) row.push_back(*tokenizer.special(SpecialRole::Bos));
  tokenizer.encode_append(text, row);
  if (data.source_eos && tokenizer.special(SpecialRole::Eos)) row.push_back(*tokenizer.special(SpecialRole::Eos));
  return row;
}

SearchTokens search_tokens(const Tokenizer& tokenizer) {
  SearchTokens tokens{.end = tokenizer.special(SpecialRole::Eos)};
  for (const SpecialRole role : {SpecialRole::Bos, SpecialRole::Pad, SpecialRole::Unk}) {
    const auto id = tokenizer.special(role);
    if (id && id != tokens.end) tokens.suppressed.push_back(*id);
  }
  return tokens;
}

}  // namespace

std::vector<std::vector<Hypothesis>> Writer::translate(std::vector<std::vector<int32_t>> sources,
                                                       const SearchConfig& search_config,
                                                       const std::function<void(int64_t)>& on_progress) const {
  std::vector<SearchInput> inputs;
  for (const std::vector<int32_t>& source : sources) {
    if (static_cast<int64_t>(source.size()) > job.model.max_length) {
      throw DataError(fmt::format("text {} has {} tokens; the model's longest is {}", inputs.size() + 1, source.size(),
                                  job.model.max_length),
                      "cut it into sentences");
    }
    inputs.push_back({.id = static_cast<int64_t>(inputs.size()),
                      .prompt = {*target_tokenizer.special(SpecialRole::Bos)},
                      .source_length = static_cast<int64_t>(source.size())});
  }
  return search(inputs, decoder_factory(model, std::move(sources)), search_config, search_tokens(target_tokenizer),
                on_progress);
}

std::vector<std::vector<Hypothesis>> Writer::write(const std::vector<std::string>& texts,
                                                   const SearchConfig& search_config,
                                                   const std::function<void(int64_t)>& on_progress) const {
  if (job.is_translation()) {
    std::vector<std::vector<int32_t>> sources;
    for (const std::string& text : texts) {
      sources.push_back(text.empty() ? std::vector<int32_t>{} : source_row(text, source_tokenizer, job.data));
    }
    return translate(std::move(sources), search_config, on_progress);
  }
  std::vector<SearchInput> inputs;
  const auto eos = target_tokenizer.special(SpecialRole::Eos);
  for (const std::string& text : texts) {
    SearchInput input{.id = static_cast<int64_t>(inputs.size()), .prompt = target_tokenizer.encode(text)};
    // Documents are separated by the end token, so it also begins one.
    if (input.prompt.empty() && eos) input.prompt = {*eos};
    require<DataError>(!input.prompt.empty(), "an empty prompt, and the tokenizer has no end token to begin with");
    inputs.push_back(std::move(input));
  }
  return search(inputs, decoder_factory(model), search_config, search_tokens(target_tokenizer), on_progress);
}

std::string Writer::text(const Hypothesis& hypothesis) const { return target_tokenizer.decode(hypothesis.tokens); }

SampleWriter make_sample_writer(const JobConfig& job, bool is_rank0) {
  const Dataset dataset = Dataset::open(job.data.directory, "train");
  auto source = dataset.load_source_tokenizer(), target = dataset.load_target_tokenizer();
  return [&job, is_rank0, source, target](Transformer& model, int64_t step) {
    const Writer writer{model, job, *source, *target};
    for (const double temperature : job.log.generations.temperatures) {
      SearchConfig search{.method = SearchMethod::Sample,
                          .temperature = temperature,
                          .max_length_factor = 0,
                          .max_length_extra = job.log.generations.max_tokens};
      const auto texts = writer.write(job.log.generations.prompts, search);
      for (size_t i = 0; i < texts.size() && is_rank0; ++i) {
        std::fprintf(stderr, "  step %ld, temperature %g: %s => %s\n", static_cast<long>(step), temperature,
                     job.log.generations.prompts[i].c_str(), writer.text(texts[i][0]).c_str());
      }
    }
  };
}

}  // namespace weft
