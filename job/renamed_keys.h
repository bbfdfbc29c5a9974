// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/config/renamed_keys.h"

namespace weft {

// Every key of a job that had another name in an earlier version: the one table behind the errors for job files
// (job/job.h) and the reading of stored jobs (job/migration.h).
RenamedKeys renamed_job_keys();

}  // namespace weft
