// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"
#include "data/sample/corpus.h"
#include "launch/commands.h"

namespace weft {

void add_sample_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "sample", "Write the sample corpus: English to Norwegian pairs from a grammar, with held-out combinations.");
  command->footer(
      "train.tsv, valid.tsv and test.tsv hold pairs, text.txt documents for language models, README.txt says what is\n"
      "held out. configs/sample/*.yaml are jobs for a corpus in sample/:\n"
      "  weft sample sample && weft prepare configs/sample/translation.yaml");
  auto directory = std::make_shared<std::string>();
  auto seed = std::make_shared<uint64_t>(1);
  command->add_option("directory", *directory, "Where to write it")->required();
  command->add_option("--seed", *seed, "Another seed gives other pairs");
  command->callback([=, &action] {
    action = [=] {
      const SampleReport report = write_sample_corpus(*directory, *seed);
      log_info("{}: {} pairs to train, {} to validate, {} to test; {} documents for language models", *directory,
               report.train_pairs, report.valid_pairs, report.test_pairs, report.documents);
      return ExitCode::Done;
    };
  });
}

}  // namespace weft
