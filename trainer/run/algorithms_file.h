// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "job/job.h"
#include "kernels/context.h"
#include "parallel/communicator.h"

namespace weft {

// The file in which a run keeps the algorithms that its device has measured (train.algorithms_file), so that the next
// process, of this run or of another, computes with the same ones. A checkpoint has its own copy; the file has what was
// measured after it, too.
class AlgorithmsFile {
 public:
  AlgorithmsFile(const JobConfig& job, Context& context, Communicator& world);

  // Takes over what the file says, where the device has measured nothing yet: before the first product, and after what
  // a checkpoint says. No file is none to take over; DataError on every rank if it is no such file. Rank 0 reads it for
  // all. Collective.
  void read();
  // Writes what has been measured since the last call: rank 0's table, which ranks on devices of its kind share
  // (trainer/step/agreed_algorithms.h). A failure is told and does not end the run.
  void keep();

 private:
  fs::path path_;
  bool measured_;
  Context& context_;
  Communicator& world_;
  std::string kept_;
};

}  // namespace weft
