// SPDX-License-Identifier: Apache-2.0
#include "pages/live_report.h"

#include <exception>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "pages/page.h"
#include "pages/report.h"

namespace weft {

LiveReport::LiveReport(fs::path run) : run_(std::move(run)) {}

void LiveReport::update() {
  if (!waiting_.exchange(true)) thread_.add([this] { write(); });
}

void LiveReport::write() {
  waiting_ = false;  // lines that come from now on may be missing in this page
  try {
    write_page(run_ / "report.html", report_page({run_}));
  } catch (const std::exception& error) {
    if (!std::exchange(failed_, true)) log_warning("report.html is not written (train.report): {}", describe(error));
  }
}

}  // namespace weft
