// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/trace/trace_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/enum_table.h"
#include "trainer/run/trace/trace_table.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

// Numbers of threads are those of the whole machine to Perfetto, as Linux has them, and the thread that has its
// process's number is the main one: rank 3 is process 40, with the threads 40 to 43.
int process_of(int rank) { return 10 * (rank + 1); }

// The threads of a rank's process.
enum class Lane : uint8_t { Queue, Host, Loader, Saves };
constexpr EnumTable<Lane, std::string_view> kLanes = {
    {Lane::Queue, "queue"}, {Lane::Host, "host waits"}, {Lane::Loader, "loader"}, {Lane::Saves, "saves"}};

Lane lane_of(SpanKind kind) {
  switch (kind) {
    case SpanKind::Phase:
    case SpanKind::Operation:
    case SpanKind::Wait:
    case SpanKind::Collective:
      return Lane::Queue;
    case SpanKind::Control:
    case SpanKind::Data:
      return Lane::Host;
    case SpanKind::Load:
      return Lane::Loader;
    case SpanKind::Save:
      return Lane::Saves;
  }
  return Lane::Queue;
}

std::string quoted(const std::string& text) { return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace); }

class Events {
 public:
  explicit Events(const TracedRank& rank) : rank_(rank), process_(process_of(rank.rank)) {
    name("process_name", process_, rank.name);
    add(R"({{"ph":"M","pid":{},"name":"process_sort_index","args":{{"sort_index":{}}}}})", process_, rank.rank);
    for (int number = 0; number < enum_size<Lane>(); ++number) {
      const auto lane = static_cast<Lane>(number);
      name("thread_name", thread_of(lane), std::string(kLanes[lane]));
    }
  }

  void add_span(const TraceSpan& span) {
    const std::string common = fmt::format(R"("pid":{},"tid":{},"cat":"{}","name":{})", process_,
                                           thread_of(lane_of(span.kind)), weft::name(span.kind), quoted(span.what));
    const double begin = microseconds(span.begin), end = microseconds(span.end);
    if (span.kind == SpanKind::Collective) {
      ++collectives_;
      add(R"({{"ph":"b","id2":{{"local":"{}"}},"ts":{:.3f},{}{}}})", collectives_, begin, common, amount(span));
      add(R"({{"ph":"e","id2":{{"local":"{}"}},"ts":{:.3f},{}}})", collectives_, end, common);
    } else {
      add(R"({{"ph":"X","ts":{:.3f},"dur":{:.3f},{}{}}})", begin, end - begin, common, amount(span));
    }
  }
  std::string take() { return std::move(text_); }

 private:
  int thread_of(Lane lane) const { return process_ + static_cast<int>(lane); }
  double microseconds(double seconds) const { return 1e6 * (rank_.begin + seconds); }
  static std::string amount(const TraceSpan& span) {
    if (span.bytes == 0 && span.flops == 0) return "";
    return fmt::format(R"(,"args":{{"bytes":{:.0f},"flops":{:.0f}}})", span.bytes, span.flops);
  }
  void name(const char* what, int thread, const std::string& text) {
    add(R"({{"ph":"M","pid":{},"tid":{},"name":"{}","args":{{"name":{}}}}})", process_, thread, what, quoted(text));
  }
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    if (!text_.empty()) text_ += ",\n";
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  const TracedRank& rank_;
  int process_;
  std::string text_;
  int64_t collectives_ = 0;
};

}  // namespace

std::string trace_events(const TracedRank& rank, std::span<const TraceSpan> spans) {
  Events events(rank);
  for (const TraceSpan& span : spans) events.add_span(span);
  return events.take();
}

std::string trace_file(std::span<const std::string> events, const Json& about) {
  return fmt::format("{{\"displayTimeUnit\":\"ms\",\n\"otherData\":{},\n\"traceEvents\":[\n{}\n]}}\n", about.dump(),
                     fmt::join(events, ",\n"));
}

}  // namespace weft
