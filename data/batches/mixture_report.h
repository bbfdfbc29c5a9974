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
  double share = 1;               // part of the windows or pairs that training takes
  int64_t tokens = 0;             // tokens in the dataset
  int64_t records = 0;            // windows or pairs in the dataset
  int64_t records_an_epoch = 0;   // windows or pairs that an epoch of the mixture takes
  double tokens_until_again = 0;  // tokens of all sources until this one repeats; pairs count by their mean length
  double epochs = 0;              // passes over the dataset so far, exact if all steps have the same size
};

// One report for each source of a training plan over `dataset`, for a run at `position`; empty if nothing is mixed.
std::vector<SourceReport> source_reports(const Dataset& dataset, const BatchPlan& plan, Position position = {});

// A table with a line for each source; empty if there is no source.
std::string describe_sources(const std::vector<SourceReport>& sources, DatasetKind kind);
// "prepared/a 1.52, prepared/b 0.31"
std::string describe_epochs(const std::vector<SourceReport>& sources);

}  // namespace weft
