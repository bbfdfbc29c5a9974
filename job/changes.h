// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/config/writer.h"
#include "job/job.h"

namespace weft {

// How the job of a resumed run differs from the job of its checkpoint.
struct ResumeChanges {
  std::vector<ConfigChange> harmless;  // keys that cannot change what is computed: paths, logs, layout, timeouts
  std::vector<ConfigChange> allowed;   // keys that change training, named in `allow_changes` of the new job
  std::vector<ConfigChange> refused;   // keys that change training and are not named there
};
ResumeChanges resume_changes(const JobConfig& checkpoint, const JobConfig& now);

// What another value of `key` affects, as the key's declaration in fields() says; Training for a key that no field
// declares.
Affects affected_by(const std::string& key);

// True if another value of `key` changes training: its steps, their order, their arithmetic or its end.
bool changes_training(const std::string& key);

// True if evaluations of the validation split before and after another value of `key` cannot be compared.
bool changes_evaluation(const std::string& key);

// Whether `allow_changes` names the key or a section that contains it.
bool overrides(const JobConfig& job, const std::string& key);

// One line per change: "\n  KEY: BEFORE -> AFTER".
std::string list_changes(const std::vector<ConfigChange>& changes);

// Throws ConfigError naming each refused key with both values and what to do instead; does nothing if none is refused.
void refuse_changes(const std::vector<ConfigChange>& refused, const std::string& checkpoint);

}  // namespace weft
