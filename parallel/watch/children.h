// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <vector>

namespace weft {

// Processes that `parent` has started and a signal or a debugger has stopped, by their numbers. Of a launcher they are
// ranks of this node, which know nothing of each other before MPI has begun.
std::vector<pid_t> stopped_children(pid_t parent);

// The process state as in the third field of /proc/PID/stat: 'T' stopped by a signal, 't' by a debugger, 'X' if there
// is no such process.
char state_of_process(pid_t process);

}  // namespace weft
