// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/logs/append_log.h"

#include <utility>

#include "base/log.h"

namespace weft {
namespace {

void cut_to(File& file, uint64_t bytes) {
  try {
    if (file.size() > bytes) file.resize(bytes);
  } catch (const std::exception&) {  // what failed before is reported already
  }
}

}  // namespace

AppendLog::AppendLog(std::string what, const fs::path& path, const std::function<uint64_t(const File&)>& whole)
    : what_(std::move(what)) {
  try {
    auto file = std::make_unique<File>(path, File::Mode::ReadWrite);
    file->resize(whole(*file));
    file_ = std::move(file);
  } catch (const std::exception& error) {
    log_warning("{} are not written: {}", what_, error.what());
  }
}

AppendLog::~AppendLog() = default;

void AppendLog::append(int64_t step, std::string record) {
  if (!file_) return;
  thread_.add([this, step, record = std::move(record)] { write(step, record); });
}

void AppendLog::finish() { thread_.finish(); }

void AppendLog::write(int64_t step, const std::string& record) {
  uint64_t before = 0;
  try {
    before = file_->size();
    file_->append(record);
    if (failing_) log_info("{} are written again from step {} on", what_, step);
    failing_ = false;
  } catch (const std::exception& error) {
    // A full disk may have taken part of the record, which must not run into the next one.
    cut_to(*file_, before);
    if (!failing_) log_warning("{} are not written from step {} on: {}", what_, step, error.what());
    failing_ = true;
  }
}

}  // namespace weft
