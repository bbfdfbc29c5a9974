// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/algorithms_file.h"

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/attachments.h"
#include "kernels/device/tuning.h"
#include "parallel/agree.h"

namespace weft {

AlgorithmsFile::AlgorithmsFile(const JobConfig& job, Context& context, Communicator& world)
    : path_(job.train.algorithms_file.empty() ? job.run_directory() / kAlgorithmsAttachment
                                              : fs::path(job.train.algorithms_file)),
      measured_(job.train.algorithms == AlgorithmChoice::Measured),
      context_(context),
      world_(world) {}

void AlgorithmsFile::read() {
  if (!measured_) return;
  kept_ = agree(world_, [&] { return fs::exists(path_) ? read_file(path_) : std::string(); });
  if (kept_.empty()) return;
  try {
    take_tuned(context_, kept_, path_.string());
  } catch (const DataError& error) {
    throw DataError(error.what(), "restore it, or remove it so that the algorithms are measured again");
  }
}

void AlgorithmsFile::keep() {
  if (world_.rank() != 0) return;
  std::string now = tuned(context_);
  if (now.empty() || now == kept_) return;
  thread_.add([path = path_, now] {
    try {
      write_file_atomically(path, now);
    } catch (const DataError& error) {
      log_warning("the measured algorithms are kept in checkpoints only: {}", error.what());
    }
  });
  kept_ = std::move(now);
}

}  // namespace weft
