// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace weft {

// If $WEFT_EXIT_FILE names a file, the first process of a job that calls this writes a line with the code and then the
// reason, at most 4 KiB of it, to that file; later calls change nothing. For scripts around a launcher that returns
// another rank's code, as srun --kill-on-bad-exit does (143, of a rank that it ended itself), and may lose a rank's
// last output. A file of 5 KiB beside it with the same name and ".room" is renamed and overwritten: so the reason is
// told even if the disk is full. Call it before anything that makes the launcher end this process. 0 is never written.
void write_exit_file(int code, std::string_view why = {}) noexcept;

}  // namespace weft
