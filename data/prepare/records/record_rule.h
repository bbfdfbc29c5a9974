// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "data/prepare/records/record_reader.h"
#include "data/text/text_lines.h"

namespace weft {

// The definition of a record in a format whose files can be cut into blocks (text_blocks.h). Thread-safe.
class RecordRule {
 public:
  virtual ~RecordRule() = default;
  // The number of bytes at the beginning of a text that hold whole records; 0: none, or unknown. Those of whole lines,
  // unless a format has other borders.
  virtual size_t whole_records(std::string_view text) const;
  // Reads the next record of the text (format parallel: and its partner); false at the end. BadRecordError, without the
  // place, if the text there is not a record; the next call then reads the text after it.
  virtual bool read(TextLines& text, TextLines& partner, TextRecord& record) const = 0;
};

// The next line that is not of white space alone, for formats of an object a line; the record gets its place. False at
// the end of the text; BadRecordError if the line has a NUL byte.
bool next_json_line(TextLines& text, TextRecord& record, std::string_view& line);

}  // namespace weft
