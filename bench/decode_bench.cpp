// SPDX-License-Identifier: Apache-2.0
#include "bench/decode_bench.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/philox.h"
#include "base/process/machine.h"
#include "base/progress.h"
#include "bench/read_bandwidth.h"
#include "generate/search/model_decoder.h"
#include "generate/search/search.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

std::vector<SearchInput> random_prompts(const DecodeBenchOptions& o, int64_t vocabulary) {
  std::vector<SearchInput> inputs;
  const Philox philox(7);
  for (int64_t i = 0; i < o.batch; ++i) {
    SearchInput input{.id = i};
    for (int64_t t = 0; t < o.prompt; ++t) {
      const auto bits = philox({static_cast<uint32_t>(i), static_cast<uint32_t>(t), 0, 0});
      input.prompt.push_back(static_cast<int32_t>(bits[0] % static_cast<uint64_t>(vocabulary)));
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

void check(const DecodeBenchOptions& o, const JobConfig& job) {
  if (job.is_translation()) throw ConfigError("what decodes here is a language model", "give another job or --model");
  const int64_t positions = o.prompt + o.new_tokens - 1;
  if (positions > job.model.max_length) {
    throw ConfigError(fmt::format("{} positions to decode, the model has {}", positions, job.model.max_length),
                      "lower --new-tokens or --prompt-tokens");
  }
}

}  // namespace

DecodeReport bench_decoding(Context& context, Mesh& mesh, const JobConfig& job, int64_t vocabulary,
                            const DecodeBenchOptions& options) {
  check(options, job);
  const auto model = make_model(context, mesh, {.config = job.model, .vocabularies = {.target = vocabulary}});
  model->allocate(job.train.precision, Purpose::Inference);
  model->parameters().initialise(1);
  model->packed_weights().set_format(options.weights);
  const std::vector<SearchInput> inputs = random_prompts(options, vocabulary);
  const SearchConfig search_config{.method = options.beam > 1 ? SearchMethod::Beam : SearchMethod::Greedy,
                                   .beam = options.beam,
                                   .max_length_factor = 0,
                                   .max_length_extra = options.new_tokens,
                                   .batch_sentences = options.batch,
                                   .batch_tokens = options.batch * options.beam * options.prompt};
  const auto run = [&] {
    const auto start = std::chrono::steady_clock::now();
    search(inputs, decoder_factory(*model), search_config, {});  // without an end token all texts have full length
    return seconds_since(start);
  };
  DecodeReport report{.precision = std::string(enum_name(job.train.precision)),
                      .weights = std::string(enum_name(options.weights)),
                      .library = matmul_library(),
                      .processor = processor_name(),
                      .threads = context.threads(),
                      .parameters = model->parameters().global_elements(),
                      .options = options};
  run();
  for (int64_t i = 0; i < options.repeats; ++i) report.seconds.push_back(run());
  report.weight_bytes = model->packed_weights().bytes();
  if (options.bandwidth) report.read_bandwidth = measure_read_bandwidth(context.threads());
  if (options.operations) {
    context.ledger().clear();
    context.time_operations(true);
    run();
    context.time_operations(false);
    report.operations = context.ledger().entries();
  }
  return report;
}

double DecodeReport::median_seconds() const {
  std::vector<double> sorted = seconds;
  std::ranges::sort(sorted);
  return sorted.empty() ? 0 : sorted[sorted.size() / 2];
}

double DecodeReport::tokens_per_second() const {
  return static_cast<double>(options.batch * options.new_tokens) / median_seconds();
}

double DecodeReport::bandwidth_share() const {
  if (read_bandwidth == 0) return 0;
  return static_cast<double>(weight_bytes) * static_cast<double>(options.new_tokens) / median_seconds() /
         read_bandwidth;
}

std::string describe(const DecodeReport& r) {
  const DecodeBenchOptions& o = r.options;
  std::string text =
      fmt::format("{} parameters, {}, weights {} ({:.1f} MB read a position), {}\n", r.parameters, r.precision,
                  r.weights, 1e-6 * static_cast<double>(r.weight_bytes), counted(r.threads, "thread"));
  text += fmt::format("{}\n", r.processor);
  text += fmt::format("{} texts of {} + {} tokens, {}: {:.1f} new tokens/s (median of {} runs)\n", o.batch, o.prompt,
                      o.new_tokens, o.beam > 1 ? fmt::format("beam {}", o.beam) : "greedy", r.tokens_per_second(),
                      r.seconds.size());
  text += r.read_bandwidth > 0
              ? fmt::format("weights read at {:.1f} % of {:.1f} GB/s, what all threads read of 512 MiB\n",
                            100 * r.bandwidth_share(), 1e-9 * r.read_bandwidth)
              : std::string("read bandwidth: not measured\n");
  std::vector<std::pair<std::string, Ledger::Entry>> all(r.operations.begin(), r.operations.end());
  std::ranges::sort(all, std::ranges::greater(), [](const auto& entry) { return entry.second.seconds; });
  if (!all.empty()) text += "operation                 ms/token  calls     GB/s\n";
  for (const auto& [name, e] : all) {
    const auto tokens = static_cast<double>(o.new_tokens);
    text += fmt::format("{:<24} {:>9.3f} {:>6.0f} {:>8.1f}\n", name, 1e3 * e.seconds / tokens,
                        static_cast<double>(e.calls) / tokens, 1e-9 * e.bytes / e.seconds);
  }
  return text;
}

Json to_json(const DecodeReport& r) {
  const auto known = [](double value) { return value > 0 ? Json(value) : Json(nullptr); };
  return {{"precision", r.precision},
          {"weights", r.weights},
          {"library", r.library},
          {"processor", r.processor},
          {"threads", r.threads},
          {"parameters", r.parameters},
          {"batch", r.options.batch},
          {"beam", r.options.beam},
          {"prompt", r.options.prompt},
          {"new_tokens", r.options.new_tokens},
          {"run_seconds", r.seconds},
          {"tokens_per_second", r.tokens_per_second()},
          {"weight_bytes", r.weight_bytes},
          {"read_bandwidth", known(r.read_bandwidth)},
          {"bandwidth_share", known(r.bandwidth_share())}};
}

}  // namespace weft
