// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "data/batches/batch_plan.h"
#include "data/dataset/dataset.h"

namespace weft {

// The part of training that comes from one of several mixed datasets.
struct SourceReport {
  std::string directory;
  double weight = 1;
  double share = 1;               // of all windows or pairs that are taken
  int64_t tokens = 0;             // that it holds
  int64_t records = 0;            // windows or pairs that it holds
  int64_t records_an_epoch = 0;   // records of the mixture
  double tokens_until_again = 0;  // tokens of all sources until this one begins again; pairs count by their mean length
  double epochs = 0;              // passes over it so far, exact if all steps have one size
};

// Of each source of a training plan over `dataset`, as a run that is at `position` has it; empty if nothing is mixed.
std::vector<SourceReport> source_reports(const Dataset& dataset, const BatchPlan& plan, Position position = {});

// A table, a line a source; empty for none.
std::string describe_sources(const std::vector<SourceReport>& sources, DatasetKind kind);
// "prepared/a 1.52, prepared/b 0.31"
std::string describe_epochs(const std::vector<SourceReport>& sources);

}  // namespace weft
