// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/process/task_thread.h"
#include "job/job.h"
#include "kernels/context.h"
#include "parallel/communicator.h"

namespace weft {

// The file in which a run keeps the algorithms that its device has measured (train.algorithms_file), so that the next
// process, of this run or of another, computes with the same algorithms. A checkpoint has its own copy; the file also
// holds algorithms that were measured after it.
class AlgorithmsFile {
 public:
  AlgorithmsFile(const JobConfig& job, Context& context, Communicator& world);

  // Takes over the file's algorithms for the shapes that have none yet; called before the first product and after a
  // checkpoint's algorithms are taken over. Does nothing if the file does not exist; DataError on every rank if it
  // cannot be used. Rank 0 reads it for all ranks. Collective.
  void read();
  // Writes rank 0's table, which ranks on devices of its kind share (trainer/step/agreed_algorithms.h), if an algorithm
  // was measured since the last call, in a thread of its own. A failure is logged and does not end the run.
  void keep();
  void finish() { thread_.finish(); }  // waits until the file is written

 private:
  fs::path path_;
  bool measured_;
  Context& context_;
  Communicator& world_;
  std::string kept_;
  TaskThread thread_;
};

}  // namespace weft
