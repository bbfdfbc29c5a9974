// SPDX-License-Identifier: Apache-2.0
#include "base/progress.h"
#include "data/chat/conversation.h"
#include "data/prepare/records/block_reader.h"

namespace weft {
namespace {

// Conversations: a list of messages in a field of the object on each line (data/chat/conversation.h says what passes).
// Lines of white space are skipped.
class ChatRule : public RecordRule {
 public:
  explicit ChatRule(const DataConfig& config) : field_(config.messages_field) {}

  bool read(TextLines& text, TextLines&, TextRecord& record) const override {
    std::string_view line;
    while (text.next(line)) {
      record.line = text.line();
      record.on_one_line = true;
      if (is_blank_line(line)) continue;
      if (line.find('\0') != std::string_view::npos) throw nul_error();
      record.source = conversation_json(read_conversation(line, field_));
      return true;
    }
    return false;
  }

 private:
  std::string field_;
};

}  // namespace

std::unique_ptr<RecordReader> open_messages(const DataConfig& config, TextFiles files, BadRecords& bad, int threads) {
  return std::make_unique<BlockReader>(config, std::move(files), bad, threads, std::make_unique<ChatRule>(config));
}

}  // namespace weft
