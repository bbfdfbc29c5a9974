#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/config/reader.h"
#include "base/log.h"
#include "base/progress.h"
#include "data/tokenizer/tokenizer.h"
#include "evaluate/baseline_scores.h"
#include "evaluate/loaded_model.h"
#include "evaluate/loss_evaluation.h"
#include "evaluate/metrics/bleu.h"
#include "evaluate/metrics/chrf.h"
#include "evaluate/metrics/perplexity.h"
#include "evaluate/search/search.h"
#include "evaluate/translator.h"
#include "launch/commands.h"
#include "launch/help.h"
#include "parallel/session.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

struct EvaluateArguments {
  JobArguments job;
  std::string checkpoint;
  bool best = false;
  std::string split = "test";
  bool json = false;
  std::vector<std::string> search, bleu;
  int64_t stride = 0;
  int64_t max_sequences = 0;
  std::string translations;  // file to keep the translations in
  bool baselines = false;
  int tp = 1;
};

// One line for each of `texts` of all dp ranks, which took every dp-th in turn; the same on every rank.
std::vector<std::string> gather_lines(Communicator& dp, const std::vector<std::string>& mine, int64_t total) {
  std::vector<std::string> all(static_cast<size_t>(total));
  const auto packed = nlohmann::json::to_msgpack(mine);  // texts of any bytes, unlike JSON
  for (int rank = 0; rank < dp.size(); ++rank) {
    const std::string lines = dp.broadcast_text({packed.begin(), packed.end()}, rank);
    const auto theirs = nlohmann::json::from_msgpack(lines).get<std::vector<std::string>>();
    for (size_t i = 0; i < theirs.size(); ++i) all[i * dp.size() + rank] = theirs[i];
  }
  return all;
}

// Every dp rank translates its share of the sentences; a text does not depend on who writes it.
std::vector<std::string> translate_split(const Writer& writer, const std::vector<std::vector<int32_t>>& sources,
                                         const SearchConfig& search, Session& session) {
  Communicator& dp = session.mesh().dp();
  std::vector<std::vector<int32_t>> share;
  for (size_t i = dp.rank(); i < sources.size(); i += dp.size()) share.push_back(sources[i]);
  const auto total = static_cast<int64_t>(share.size());
  const Heartbeat::Scope translating(session.mesh().heartbeat(), RunPhase::Evaluate);
  Progress console(session.is_rank0());
  const auto texts = writer.translate(share, search, [&](int64_t done) {
    console.show(
        fmt::format("translating {}/{}  {} left", done, total, format_duration(console.seconds_left(0, done, total))));
  });
  console.clear();
  std::vector<std::string> mine;
  mine.reserve(texts.size());
  for (const auto& best : texts) mine.push_back(writer.text(best.at(0)));
  return gather_lines(dp, mine, static_cast<int64_t>(sources.size()));
}

std::vector<std::vector<int32_t>> source_rows(const Dataset& dataset, int64_t pairs) {
  std::vector<std::vector<int32_t>> rows(static_cast<size_t>(pairs));
  for (int64_t i = 0; i < pairs; ++i) {
    rows[i].resize(static_cast<size_t>(dataset.source_length(i)));
    dataset.read_source(i, rows[i]);
  }
  return rows;
}

// What the command line asks of a translation's search and score.
struct TranslationOptions {
  SearchConfig search;
  BleuConfig bleu;
};

// Before anything takes time: options that can be read, and a file that can be written.
TranslationOptions translation_options(const EvaluateArguments& a, bool translates, bool is_rank0) {
  const bool asked = !a.search.empty() || !a.bleu.empty() || !a.translations.empty() || a.baselines;
  if (asked && !translates) {
    throw ConfigError("--search, --bleu, --translations and --baselines are for translation; this is a language model",
                      "leave them out");
  }
  TranslationOptions options{read_options<SearchConfig>("--search", a.search),
                             read_options<BleuConfig>("--bleu", a.bleu)};
  check(options.search);
  if (!a.translations.empty() && is_rank0) {
    const fs::path trial = a.translations + ".tmp";
    { const File made(trial, File::Mode::Create); }
    fs::remove(trial);
  }
  return options;
}

Json evaluate_translation(const EvaluateArguments& a, const LoadedModel& loaded, const Dataset& dataset,
                          const TranslationOptions& options, Session& session) {
  int64_t pairs = dataset.num_pairs();
  if (a.max_sequences > 0) pairs = std::min(pairs, a.max_sequences);
  const Writer writer{*loaded.model, loaded.job, *loaded.source_tokenizer, *loaded.target_tokenizer};
  const auto hypotheses = translate_split(writer, source_rows(dataset, pairs), options.search, session);
  const bool is_rank0 = session.is_rank0();
  if (!a.translations.empty() && is_rank0) {
    write_file_atomically(a.translations, fmt::format("{}\n", fmt::join(hypotheses, "\n")));
  }
  const std::vector<std::vector<std::string>> references = {target_texts(dataset, *loaded.target_tokenizer, pairs)};
  const BleuScore bleu = corpus_bleu(hypotheses, references, options.bleu);
  const ChrfScore chrf = corpus_chrf(hypotheses, references);
  if (const std::string warning = bleu.warning(); !warning.empty()) log_warning("{}", warning);
  if (!a.json && is_rank0) std::printf("%s\n%s\n", bleu.format().c_str(), chrf.format().c_str());
  Json out = {{"bleu", nlohmann::json(bleu)}, {"chrf", nlohmann::json(chrf)}};
  if (!a.baselines) return out;
  // Rank 0 scores them alone, for as long as it takes; the others wait for its end, or that of a rank that was stopped.
  PhaseBudgets unhurried = loaded.job.timeouts;
  unhurried.init_seconds = unhurried.evaluate_seconds = 0;
  session.set_budgets(unhurried);
  if (!is_rank0) return out;
  const Dataset train = Dataset::open(loaded.job.data.directory, "train");
  for (const BaselineScore& baseline : score_baselines({.train = train,
                                       .source_tokenizer = *loaded.source_tokenizer,
                                       .target_tokenizer = *loaded.target_tokenizer,
                                       .sources = source_texts(dataset, *loaded.source_tokenizer, pairs),
                                       .references = references[0],
                                       .bleu = options.bleu})) {
    if (!a.json) std::printf("%s: %s\n", baseline.name.c_str(), baseline.bleu.format().c_str());
    out["baselines"][baseline.name] = nlohmann::json(baseline.bleu);
  }
  return out;
}

// The text that the split's target tokens stand for, so that models with other tokenizers compare.
TextSize text_size(const Dataset& dataset, const Tokenizer& tokenizer, Heartbeat& heartbeat) {
  TextSize size;
  const auto unknown = tokenizer.special(SpecialRole::Unk);  // stands for text, the other specials end one
  const auto ends_text = [&](int32_t id) { return tokenizer.is_special(id) && id != unknown; };
  const auto add = [&](std::span<const int32_t> ids) {
    heartbeat.beat();
    for (auto from = ids.begin(); from != ids.end();) {
      const auto to = std::find_if(from, ids.end(), ends_text);
      size.add(tokenizer.decode({from, to}));
      if (to == ids.end()) break;
      size.end_text();
      from = to + 1;
    }
  };
  std::vector<int32_t> row;
  if (dataset.header().kind == DatasetKind::Pairs) {
    for (int64_t i = 0; i < dataset.num_pairs(); ++i) {
      row.resize(static_cast<size_t>(dataset.target_length(i)));
      dataset.read_target(i, row);
      add(row);
      size.end_text();
    }
    return size;
  }
  for (int64_t at = 0; at < dataset.num_tokens(); at += 1 << 16) {
    row.resize(static_cast<size_t>(std::min<int64_t>(1 << 16, dataset.num_tokens() - at)));
    dataset.read_tokens(at, row);
    add(row);
  }
  return size;
}

Json evaluate_perplexity(const EvaluateArguments& a, LoadedModel& loaded, const std::shared_ptr<const Dataset>& dataset,
                         Session& session) {
  const int64_t context = loaded.job.batch.context_length;
  Heartbeat& heartbeat = session.mesh().heartbeat();
  const Heartbeat::Scope evaluating(heartbeat, RunPhase::Evaluate);
  const LossReport loss = evaluate_loss(
      *loaded.model, dataset, {.context_length = context, .stride = a.stride, .max_sequences = a.max_sequences}, 0);
  PerplexitySums sums{.nll = loss.nll, .tokens = loss.targets};
  if (a.max_sequences == 0) {
    const TextSize size = text_size(*dataset, *loaded.target_tokenizer, heartbeat);
    sums.words = size.words(), sums.bytes = size.bytes();
  }
  // Target rows have both ends; in a stream the specials between texts are targets like any other token.
  PerplexityProtocol protocol{.bos_fed = true, .eos_scored = true};
  if (dataset->header().kind == DatasetKind::Stream) {
    protocol = {.context = context,
                .stride = a.stride > 0 ? a.stride : context,
                .bos_fed = false,
                .eos_scored = loaded.target_tokenizer->special(SpecialRole::Eos).has_value()};
  }
  const PerplexityReport report = perplexity_report(sums, protocol);
  if (!a.json && session.is_rank0()) std::printf("%s\n", report.format().c_str());
  return nlohmann::json(report);
}

ExitCode evaluate(const EvaluateArguments& a, const fs::path& path, const std::vector<std::string>& overrides,
                  Session& session) {
  LoadedModel loaded = load_model(session.context(), session.mesh(), path, a.best, overrides);
  session.set_budgets(loaded.job.timeouts);
  const auto dataset = std::make_shared<const Dataset>(Dataset::open(loaded.job.data.directory, a.split));
  const uint64_t expected = loaded.target_tokenizer->hash();
  if (dataset->header().target.tokenizer_hash != expected) {
    throw DataError(
        fmt::format("{} was made with another tokenizer than {}", loaded.job.data.directory, loaded.path.string()),
        "prepare the text again with data.tokenizer_file set to the checkpoint's target-tokenizer.json");
  }
  const TranslationOptions options = translation_options(a, loaded.job.is_translation(), session.is_rank0());
  log_info("{} on {} of {}", loaded.path.string(), a.split, loaded.job.data.directory);
  Json out = {{"checkpoint", loaded.path.string()}, {"step", loaded.state.step}, {"split", a.split}};
  out.update(evaluate_perplexity(a, loaded, dataset, session));
  if (loaded.job.is_translation()) out.update(evaluate_translation(a, loaded, *dataset, options, session));
  if (a.json && session.is_rank0()) std::printf("%s\n", out.dump().c_str());
  return ExitCode::Done;
}

ExitCode evaluate(const EvaluateArguments& a) {
  fs::path path = a.checkpoint;
  std::optional<PhaseBudgets> budgets;  // one process alone can be seen to hang
  if (find_launcher().present) budgets = PhaseBudgets{};
  std::vector<std::string> overrides = a.job.overrides;
  if (!a.job.path.empty()) {
    const JobConfig job = load_job(a.job.path, a.job.overrides);
    if (path.empty()) path = job.run_directory();
    if (budgets) budgets = job.timeouts;
    overrides.push_back("data.directory=" + job.data.directory);
  }
  if (path.empty()) throw ConfigError("nothing to evaluate", "give a job, or --checkpoint DIR");
  Session session(a.tp, budgets);
  return session.run([&] { return evaluate(a, path, overrides, session); });
}

}  // namespace

void add_evaluate_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("evaluate", "Perplexity of a split; for translation also BLEU and chrF of a search's output.");
  command->footer(
      "  weft evaluate job.yaml --split valid\n"
      "  weft evaluate --checkpoint runs/NAME --best --search beam=4 --bleu lowercase=true --json\n\n" +
      fields_help<SearchConfig>("--search") + "\n" + fields_help<BleuConfig>("--bleu"));
  auto a = std::make_shared<EvaluateArguments>();
  command->add_option("job", a->job.path, "The job: its run directory and dataset");
  command->add_option("--set", a->job.overrides, "Change one field of the job")->type_name("KEY=VALUE");
  command->add_option("--checkpoint", a->checkpoint, "A run directory (its latest checkpoint) or a checkpoint");
  command->add_flag("--best", a->best, "Of a run directory, the checkpoint with the lowest validation loss");
  command->add_option("--split", a->split, "train, valid or test")->capture_default_str();
  command->add_option("--stride", a->stride, "Tokens from one window to the next (language models); 0: the context")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--max-sequences", a->max_sequences, "Only the first so many windows or pairs; 0: all")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--search", a->search, "A field of the search: --search beam=5")->type_name("KEY=VALUE");
  command->add_option("--bleu", a->bleu, "A field of BLEU: --bleu tokenizer=none")->type_name("KEY=VALUE");
  command->add_option("--translations", a->translations, "File to write the translations to");
  command->add_option("--tp", a->tp, "Under MPI: ranks that share the model; the others divide the split")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_flag("--baselines", a->baselines,
                    "Translation: also BLEU of two translators that only look the training pairs up");
  command->add_flag("--json", a->json, "One JSON object on standard output");
  command->callback([=, &action] { action = [=] { return evaluate(*a); }; });
}

}  // namespace weft
