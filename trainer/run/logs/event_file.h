// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "base/files.h"
#include "trainer/run/logs/append_log.h"

namespace weft {

// The events of metrics.jsonl in TensorBoard's own form: DIR/tensorboard/events.out.tfevents.ATTEMPT.weft, an AppendLog
// of each attempt. A file is a series of TFRecords (length, its checksum, bytes, their checksum), each a protobuf
// message tensorflow.Event. Where an attempt resumes, or a run rolls back, TensorBoard is told to forget what came
// later.
class EventFile {
 public:
  EventFile(const fs::path& directory, int64_t attempt);
  // A number becomes the scalar "event/field" (float32), as [min, median, max] three of them; each of the texts of
  // `generations` a text "generation/PROMPT".
  void write(const char* event, int64_t step, const nlohmann::ordered_json& fields);
  void finish() { log_.finish(); }

 private:
  AppendLog log_;
};

}  // namespace weft
