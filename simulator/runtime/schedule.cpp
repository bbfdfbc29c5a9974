// SPDX-License-Identifier: Apache-2.0
#include "simulator/runtime/schedule.h"

#include <algorithm>
#include <utility>

namespace weft::cuda_device {
namespace {

constexpr size_t kForgetAtLeast = 64;  // operations between two searches for those to forget
constexpr size_t kMostPending = 2048;  // the most work that waits for the host: a real device's queue is bounded too

void add_new(std::vector<size_t>& into, const std::vector<size_t>& nodes) {
  for (const size_t node : nodes)
    if (std::find(into.begin(), into.end(), node) == into.end()) into.push_back(node);
}

bool everything_leads_to(const Graph& graph, std::vector<size_t> nodes) {
  std::vector<bool> seen(graph.nodes.size());
  while (!nodes.empty()) {
    const size_t node = nodes.back();
    nodes.pop_back();
    if (seen[node]) continue;
    seen[node] = true;
    nodes.insert(nodes.end(), graph.nodes[node].after.begin(), graph.nodes[node].after.end());
  }
  return std::find(seen.begin(), seen.end(), false) == seen.end();
}

}  // namespace

Stream& Schedule::create_stream(int device, bool blocking) {
  // The number of a destroyed stream is reused once the host knows that all of its operations are finished:
  // clocks stay short, and its count of operations continues.
  const auto old = std::find_if(destroyed_.begin(), destroyed_.end(), [&](const auto& stream) {
    return stream->queue.empty() && (stream->count == 0 || host_knows(stream->last));
  });
  auto stream = std::make_unique<Stream>();
  if (old != destroyed_.end()) {
    stream->number = (*old)->number;
    stream->count = (*old)->count;
    destroyed_.erase(old);
  } else {
    stream->number = next_number_++;
  }
  stream->device = device;
  stream->blocking = blocking;
  return *(streams_[stream->number] = std::move(stream));
}

void Schedule::destroy_stream(Stream& stream) {
  const auto found = streams_.find(stream.number);
  destroyed_.push_back(std::move(found->second));
  streams_.erase(found);
}

bool Schedule::has(const Stream* stream) const {
  return std::any_of(streams_.begin(), streams_.end(), [&](const auto& s) { return s.second.get() == stream; });
}

Stream& Schedule::legacy_stream(int device) {
  Stream*& stream = legacy_[device];
  if (!stream) stream = &create_stream(device, false);
  return *stream;
}

std::vector<Stream*> Schedule::streams_of(int device) {
  std::vector<Stream*> found;
  for (const auto& [number, stream] : streams_)
    if (stream->device == device) found.push_back(stream.get());
  for (const auto& stream : destroyed_)
    if (stream->device == device) found.push_back(stream.get());
  return found;
}

// The legacy default stream comes after all work of blocking streams, and later work of these after its work.
void Schedule::order_with_legacy(Stream& stream, std::vector<OpId>& after) {
  const auto found = legacy_.find(stream.device);
  if (found == legacy_.end()) return;
  const auto come_after = [&](const Stream& other) {
    if (&other == &stream || other.last == kBeforeAll) return;
    join(stream.clock, operations_.clock_after(other.last));
    after.push_back(other.last);
  };
  if (stream.blocking) come_after(*found->second);
  if (&stream != found->second) return;
  for (const auto& [number, other] : streams_)
    if (other->blocking && other->device == stream.device && !other->capture) come_after(*other);
}

OpId Schedule::append(Stream& stream, std::vector<OpId> after, Work work) {
  join(stream.clock, host_);
  const OpId id = operations_.add(stream.number, ++stream.count, stream.clock, work.name);
  if (stream.clock.size() <= stream.number) stream.clock.resize(stream.number + 1);
  stream.clock[stream.number] = stream.count;
  stream.last = id;
  stream.microseconds += work.microseconds;
  stream.queue.push_back({id, std::move(after), std::move(work)});
  ++pending_;
  while (pending_ > kMostPending && step()) {
  }
  return id;
}

OpId Schedule::enqueue(Stream& stream, Work work) {
  if (stream.capture) {
    auto& nodes = stream.capture->graph->nodes;
    nodes.push_back({std::move(work), stream.branch, std::move(stream.frontier)});
    stream.frontier = {nodes.size() - 1};
    return kBeforeAll;
  }
  std::vector<OpId> after;
  order_with_legacy(stream, after);
  return append(stream, std::move(after), std::move(work));
}

void Schedule::record(Event& event, Stream& stream) {
  event.recorded = true;
  event.device = stream.device;
  event.capture = stream.capture;
  event.frontier = stream.frontier;
  event.microseconds = stream.microseconds;
  if (!stream.capture) event.operation = enqueue(stream, {.name = "event record", .body = {}, .microseconds = 0});
}

void Schedule::record_at_launches(Event& event, Stream& stream) {
  enqueue(stream, {.name = "event record", .body = {}, .microseconds = 0});
  stream.capture->graph->nodes.back().records = &event;
}

void Schedule::wait(Stream& stream, const Event& event) {
  if (event.capture) {  // the stream joins the capture
    if (!stream.capture) {
      stream.capture = event.capture;
      stream.branch = stream.capture->graph->branches++;
      stream.capture->members.push_back(&stream);
    }
    add_new(stream.frontier, event.frontier);
    return;
  }
  if (event.operation == kBeforeAll) return;
  join(stream.clock, operations_.clock_after(event.operation));
  stream.microseconds = std::max(stream.microseconds, event.microseconds);
  append(stream, {event.operation}, {.name = "event wait", .body = {}, .microseconds = 0});
}

void Schedule::begin_capture(Stream& stream) {
  stream.capture = std::make_shared<Capture>();
  stream.capture->members = {&stream};
  stream.branch = 0;
  stream.frontier.clear();
}

std::shared_ptr<Graph> Schedule::end_capture(Stream& stream) {
  const std::shared_ptr<Capture> capture = stream.capture;
  const std::shared_ptr<Graph> graph = capture->graph;
  graph->frontier = stream.frontier;
  const bool joined = everything_leads_to(*graph, graph->frontier);
  for (Stream* member : capture->members) {
    member->capture = nullptr;
    member->frontier.clear();
  }
  capture->graph = nullptr;  // events that were recorded in the capture may outlive it
  return joined ? graph : nullptr;
}

void Schedule::replay(const Graph& graph, Stream& stream, const std::vector<Stream*>& branches) {
  const OpId start = enqueue(stream, {.name = "graph launch", .body = {}, .microseconds = 0});
  const double began = stream.microseconds;
  std::vector<OpId> put(graph.nodes.size());
  std::vector<double> ended(graph.nodes.size());
  const auto come_after = [&](Stream& later, const std::vector<size_t>& nodes) {
    std::vector<OpId> after;
    for (const size_t node : nodes) {
      join(later.clock, operations_.clock_after(put[node]));
      later.microseconds = std::max(later.microseconds, ended[node]);
      after.push_back(put[node]);
    }
    return after;
  };
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Graph::Node& node = graph.nodes[n];
    Stream& where = node.branch == 0 ? stream : *branches.at(static_cast<size_t>(node.branch - 1));
    std::vector<OpId> after = come_after(where, node.after);
    after.push_back(start);
    join(where.clock, operations_.clock_after(start));
    where.microseconds = std::max(where.microseconds, began);
    put[n] = append(where, std::move(after), node.work.again ? node.work.again() : node.work);
    ended[n] = where.microseconds;
    if (Event* const event = node.records) {
      event->recorded = true, event->capture = nullptr;
      event->operation = put[n], event->microseconds = ended[n];
    }
  }
  append(stream, come_after(stream, graph.frontier), {.name = "end of a graph launch", .body = {}, .microseconds = 0});
}

bool Schedule::runnable(const Stream& stream) const {
  if (stream.queue.empty()) return false;
  const Task& head = stream.queue.front();
  return std::all_of(head.after.begin(), head.after.end(), [&](OpId id) { return operations_.finished(id); }) &&
         (!head.work.ready || head.work.ready());
}

bool Schedule::step() {
  std::vector<Stream*> ready;
  for (const auto& [number, stream] : streams_)
    if (runnable(*stream)) ready.push_back(stream.get());
  for (const auto& stream : destroyed_)
    if (runnable(*stream)) ready.push_back(stream.get());
  if (ready.empty()) return false;
  Stream& stream = *ready[random_() % ready.size()];
  Task task = std::move(stream.queue.front());
  stream.queue.pop_front();
  if (task.work.body) task.work.body(task.id);
  operations_.finish(task.id);
  --pending_;
  if (operations_.kept() >= forget_at_) forget();
  return true;
}

void Schedule::perhaps_step() {
  if (random_() % 4 == 0) step();
}

void Schedule::host_waited(OpId id) { join(host_, operations_.clock_after(id)); }

bool Schedule::host_knows(OpId id) const {
  if (operations_.settled(id)) return true;
  const Clock clock = operations_.clock_after(id);
  for (size_t k = 0; k < clock.size(); ++k)
    if (clock[k] > (k < host_.size() ? host_[k] : 0)) return false;
  return true;
}

// Every later operation comes after what the host and all pending operations know: nothing will ask for their order.
void Schedule::forget() {
  Clock floor = host_;
  const auto lower = [&](const Stream& stream) {
    for (const Task& task : stream.queue) {
      const Clock clock = operations_.clock_after(task.id);
      for (size_t k = 0; k < floor.size(); ++k) floor[k] = std::min(floor[k], k < clock.size() ? clock[k] : 0);
    }
  };
  for (const auto& [number, stream] : streams_) lower(*stream);
  for (const auto& stream : destroyed_) lower(*stream);
  operations_.forget(floor);
  forget_at_ = std::max(kForgetAtLeast, 2 * operations_.kept());
}

std::string Schedule::waiting() const {
  std::string text;
  for (const auto& [number, stream] : streams_)
    if (!stream->queue.empty())
      text += (text.empty() ? "" : "; ") + ("device " + std::to_string(stream->device) + ": ") +
              operations_.describe(stream->queue.front().id);
  return text;
}

}  // namespace weft::cuda_device
