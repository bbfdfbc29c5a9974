#include "evaluate/translation_scores.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/log.h"
#include "base/progress.h"
#include "evaluate/text_generator.h"
#include "parallel/gather_texts.h"

namespace weft {
namespace {

// The lines of all ranks of an axis, of which each holds every size()-th.
std::vector<std::string> interleave_lines(Communicator& axis, const std::vector<std::string>& mine, size_t total) {
  const auto packed = nlohmann::json::to_msgpack(mine);  // lines may be any bytes, which JSON cannot hold
  std::vector<std::string> all(total);
  size_t rank = 0;
  for (const std::string& packed_lines : gather_texts(axis, {packed.begin(), packed.end()})) {
    const auto lines = nlohmann::json::from_msgpack(packed_lines).get<std::vector<std::string>>();
    for (size_t i = 0; i < lines.size(); ++i) all[i * static_cast<size_t>(axis.size()) + rank] = lines[i];
    ++rank;
  }
  return all;
}

struct Sources {
  std::vector<std::vector<int32_t>> rows;
  int64_t cut = 0;
};

// As the model can take them: at most `max_length` tokens, the last of them the end token where the row has one;
// nothing of a row without text.
Sources read_sources(const Dataset& split, int64_t pairs, int64_t max_length) {
  const DatasetSide& side = split.header().source;
  Sources sources{.rows = std::vector<std::vector<int32_t>>(static_cast<size_t>(pairs))};
  for (int64_t i = 0; i < pairs; ++i) {
    std::vector<int32_t>& row = sources.rows[i];
    row.resize(static_cast<size_t>(split.source_length(i)));
    split.read_source(i, row);
    if (std::ranges::all_of(row, [&](int32_t id) { return id == side.bos || id == side.eos; })) row.clear();
    if (std::ssize(row) <= max_length) continue;
    const int32_t last = row.back();
    row.resize(static_cast<size_t>(max_length));
    if (last == side.eos) row.back() = last;
    ++sources.cut;
  }
  return sources;
}

std::vector<std::string> read_references(const Dataset& split, const Tokenizer& tokenizer, int64_t pairs) {
  if (!split.header().references) return target_texts(split, tokenizer, pairs);
  std::vector<std::string> references;
  for (int64_t i = 0; i < pairs; ++i) references.push_back(split.read_reference(i));
  return references;
}

// A file of translations has a line for each.
void make_one_line(std::string& text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
}

}  // namespace

std::vector<std::string> translate_sentences(const LoadedModel& loaded,
                                             const std::vector<std::vector<int32_t>>& sources,
                                             const SearchConfig& search, bool show_progress) {
  Mesh& mesh = loaded.model->parameters().mesh();
  Communicator& dp = mesh.dp();
  std::vector<std::vector<int32_t>> share;
  for (size_t i = dp.rank(); i < sources.size(); i += dp.size()) share.push_back(sources[i]);
  const auto total = static_cast<int64_t>(share.size());
  const Heartbeat::Scope translating(mesh.heartbeat(), RunPhase::Evaluate);
  Progress console(show_progress);
  const TextGenerator generator = text_generator(loaded);
  const auto found =
      generator.translate(std::move(share), search,
                          {.progress =
                               [&](int64_t done) {
                                 console.show(fmt::format("translating {}/{}  {} left", done, total,
                                                          format_duration(console.seconds_left(0, done, total))));
                               }},
                          dp.rank(), dp.size());
  console.clear();
  std::vector<std::string> mine;
  mine.reserve(found.size());
  for (const NBest& best : found) mine.push_back(generator.text(best.at(0), search.stop_strings));
  return interleave_lines(dp, mine, sources.size());
}

TranslationScores score_translations(const LoadedModel& loaded, const Dataset& split, int64_t pairs,
                                     const TranslationOptions& options) {
  const bool is_rank0 = loaded.model->parameters().mesh().world().rank() == 0;
  Sources sources = read_sources(split, pairs, loaded.job.model.max_length);
  auto translations = translate_sentences(loaded, sources.rows, options.search, is_rank0);
  for (std::string& text : translations) make_one_line(text);
  if (!options.output.empty() && is_rank0) {
    write_file_atomically(options.output, fmt::format("{}\n", fmt::join(translations, "\n")));
  }
  const std::vector<std::vector<std::string>> references = {read_references(split, *loaded.target_tokenizer, pairs)};
  TranslationScores scores{.bleu = corpus_bleu(translations, references, options.bleu),
                           .chrf = corpus_chrf(translations, references),
                           .pairs = pairs,
                           .cut_sources = sources.cut,
                           .raw_references = split.header().references};
  if (const std::string warning = scores.bleu.warning(); !warning.empty()) log_warning("{}", warning);
  return scores;
}

std::vector<BaselineScore> split_baselines(const LoadedModel& loaded, const Dataset& split, int64_t pairs,
                                           const BleuConfig& bleu) {
  const Dataset train = Dataset::open(loaded.job.data.sources(), "train");
  return score_baselines({.train = train,
                          .source_tokenizer = *loaded.source_tokenizer,
                          .target_tokenizer = *loaded.target_tokenizer,
                          .sources = source_texts(split, *loaded.source_tokenizer, pairs),
                          .references = read_references(split, *loaded.target_tokenizer, pairs),
                          .bleu = bleu});
}

}  // namespace weft
