// SPDX-License-Identifier: Apache-2.0
// cuDNN's headers for graphs are large: this file alone includes them.
#include <cudnn_frontend.h>

#include "kernels/cuda/cudnn/attention_plan.h"

namespace weft::cuda {
namespace {

namespace fe = cudnn_frontend;
using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;

enum Id : int64_t { kQuery = 1, kKey, kValue, kOut, kLogSum, kDout, kDquery, kDkey, kDvalue };

// Describes a tensor [sequences, heads, rows, head_dim] by its place.
void lay_out(fe::graph::Tensor_attributes& tensor, Id id, const AttentionWindows& w, const WindowLayout& at) {
  tensor.set_uid(id)
      .set_data_type(fe::DataType_t::BFLOAT16)
      .set_dim({w.sequences, w.heads, at.length, w.head_dim})
      .set_stride({at.strides[0], at.strides[1], at.strides[2], 1});
}

void lay_out_log_sum(fe::graph::Tensor_attributes& tensor, const AttentionWindows& w,
                     const std::array<int64_t, 3>& strides) {
  tensor.set_uid(kLogSum)
      .set_data_type(fe::DataType_t::FLOAT)
      .set_dim({w.sequences, w.heads, w.queries, 1})
      .set_stride({strides[0], strides[1], strides[2], 1});
}

Tensor input(fe::graph::Graph& graph, Id id, const AttentionWindows& w, const WindowLayout& at) {
  fe::graph::Tensor_attributes tensor;
  lay_out(tensor, id, w, at);
  return graph.tensor(tensor);
}

void output(const Tensor& tensor, Id id, const AttentionWindows& w, const WindowLayout& at) {
  tensor->set_output(true);
  lay_out(*tensor, id, w, at);
}

template <class Attributes>
Attributes attributes_of(const AttentionWindows& w) {
  Attributes attributes;
  attributes.set_name("attention").set_attn_scale(static_cast<float>(w.scale));
  if (w.causal) {  // query i sees keys 0..i
    attributes.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT).set_diagonal_band_right_bound(0);
  }
  return attributes;
}

void describe_forward(fe::graph::Graph& graph, const AttentionWindows& w) {
  const AttentionLayout at = layout_of(w);
  const auto [out, log_sum] =
      graph.sdpa(input(graph, kQuery, w, at.query), input(graph, kKey, w, at.key), input(graph, kValue, w, at.value),
                 attributes_of<fe::graph::SDPA_attributes>(w).set_generate_stats(true));
  output(out, kOut, w, at.out);
  log_sum->set_output(true);
  lay_out_log_sum(*log_sum, w, at.log_sum.strides);
}

// Before version 9.26, backward reads its statistics as [sequences, heads, rows] whatever strides they are given, so
// that is how they lie.
void describe_backward(fe::graph::Graph& graph, const AttentionWindows& w) {
  const AttentionLayout at = layout_of(w);
  fe::graph::Tensor_attributes log_sum;
  lay_out_log_sum(log_sum, w, {w.heads * w.queries, w.queries, 1});
  const auto [dquery, dkey, dvalue] = graph.sdpa_backward(
      input(graph, kQuery, w, at.query), input(graph, kKey, w, at.key), input(graph, kValue, w, at.value),
      input(graph, kOut, w, at.out), input(graph, kDout, w, at.out), graph.tensor(log_sum),
      attributes_of<fe::graph::SDPA_backward_attributes>(w).set_deterministic_algorithm(true));
  output(dquery, kDquery, w, at.query);
  output(dkey, kDkey, w, at.key);
  output(dvalue, kDvalue, w, at.value);
}

void agreed(fe::error_t answer) {
  if (answer.is_bad()) throw CudnnRefusal(answer.get_message());
}

// The headers throw if the library lacks a function.
template <class F>
auto refusing(F&& ask) {
  try {
    return ask();
  } catch (const CudnnRefusal&) {
    throw;
  } catch (const std::exception& error) {
    throw CudnnRefusal(error.what());
  }
}

class CudnnPlan : public AttentionPlan {
 public:
  CudnnPlan(const AttentionWindows& windows, const CudnnTarget& target) : handle_(target.handle) {
    graph_.set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT)
        .set_sm_version(target.capability);
    if (!handle_) describe_device(target.description);
    windows.backward ? describe_backward(graph_, windows) : describe_forward(graph_, windows);
    agreed(graph_.validate());
    agreed(graph_.build_operation_graph(handle_));
    agreed(graph_.create_execution_plans({fe::HeurMode_t::A}));
    agreed(graph_.check_support());
    agreed(graph_.build_plans());
    agreed(graph_.get_workspace_size(workspace_));
  }

  size_t workspace() const override { return static_cast<size_t>(workspace_); }
  void run(const AttentionPointers& pointers, void* workspace) override;

 private:
  void describe_device(const std::string& json) {
    std::vector<uint8_t> text(json.begin(), json.end());
    text.push_back(0);
    auto device = std::make_shared<fe::DeviceProperties>();
    agreed(device->deserialize(text));
    graph_.set_device_properties(device);
  }

  cudnnHandle_t handle_;
  fe::graph::Graph graph_;
  int64_t workspace_ = 0;
};

void CudnnPlan::run(const AttentionPointers& at, void* workspace) {
  const std::pair<Id, void*> all[] = {{kQuery, at.query},   {kKey, at.key},        {kValue, at.value},
                                      {kOut, at.out},       {kLogSum, at.log_sum}, {kDout, at.dout},
                                      {kDquery, at.dquery}, {kDkey, at.dkey},      {kDvalue, at.dvalue}};
  std::unordered_map<int64_t, void*> tensors;
  for (const auto& [id, pointer] : all) {
    if (pointer) tensors.emplace(id, pointer);
  }
  refusing([&] { agreed(graph_.execute(handle_, tensors, workspace)); });
}

}  // namespace

std::unique_ptr<AttentionPlan> build_cudnn_plan(const AttentionWindows& windows, const CudnnTarget& target) {
  return refusing([&] { return std::make_unique<CudnnPlan>(windows, target); });
}

}  // namespace weft::cuda
