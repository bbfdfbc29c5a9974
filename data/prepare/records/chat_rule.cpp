// SPDX-License-Identifier: Apache-2.0
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
    if (!next_json_line(text, record, line)) return false;
    record.source = conversation_json(read_conversation(line, field_));
    return true;
  }

 private:
  std::string field_;
};

}  // namespace

std::unique_ptr<RecordReader> open_messages(const DataConfig& config, TextFiles files, BadRecords& bad, int threads) {
  return std::make_unique<BlockReader>(config, std::move(files), bad, threads, std::make_unique<ChatRule>(config));
}

}  // namespace weft
