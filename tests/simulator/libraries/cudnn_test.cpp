// SPDX-License-Identifier: Apache-2.0
// The simulated cuDNN: the stages at which it refuses a graph, and what it holds pointers to.
#include <cudnn.h>
#include <gmock/gmock.h>

#include <functional>

#include "tests/simulator/libraries/fixture/device_test.h"

namespace weft::cuda_device {
namespace {

using testing::HasSubstr;

constexpr int64_t kInput = 7;  // the program's number of the only tensor

void with_refusals(const char* setting, const std::function<void()>& body) {
  with_setting("WEFT_CUDA_DEVICE_CUDNN", setting, [&body] {
    simulator().reports.set_policy(Reports::Policy::Collect);
    body();
  });
}

cudnnBackendDescriptor_t make(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t made = nullptr;
  EXPECT_EQ(cudnnBackendCreateDescriptor(type, &made), CUDNN_STATUS_SUCCESS);
  return made;
}
void set(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
         const void* values) {
  EXPECT_EQ(cudnnBackendSetAttribute(d, name, type, count, values), CUDNN_STATUS_SUCCESS);
}
void set(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t other) {
  set(d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other);
}

// A graph of one operation with a tensor of 2 rows of 4 bf16, 8 apart, that begins at a multiple of 16 bytes.
cudnnBackendDescriptor_t graph() {
  const cudnnBackendDescriptor_t tensor = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const cudnnDataType_t type = CUDNN_DATA_BFLOAT16;
  const int64_t lengths[] = {2, 4}, strides[] = {8, 1}, alignment = 16;
  set(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
  set(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 2, lengths);
  set(tensor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 2, strides);
  set(tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
  set(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &kInput);
  const cudnnBackendDescriptor_t operation = make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  set(operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, tensor);
  const cudnnBackendDescriptor_t made = make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  set(made, CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
  return made;
}

struct Planned {
  std::string refused_at;  // empty: the plan exists
  cudnnBackendDescriptor_t plan = nullptr;
  int64_t workspace = 0;
};

Planned planned() {
  const cudnnBackendDescriptor_t g = graph();
  if (cudnnBackendFinalize(g) != CUDNN_STATUS_SUCCESS) return {"graph"};
  const cudnnBackendDescriptor_t heuristics = make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  set(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, g);
  EXPECT_EQ(cudnnBackendFinalize(heuristics), CUDNN_STATUS_SUCCESS);
  cudnnBackendDescriptor_t config = make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  int64_t engines = -1;
  cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engines,
                           &config);
  if (engines == 0) return {"engines"};
  Planned result{"", make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)};
  set(result.plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
  if (cudnnBackendFinalize(result.plan) != CUDNN_STATUS_SUCCESS) return {"plan"};
  cudnnBackendGetAttribute(result.plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, nullptr,
                           &result.workspace);
  return result;
}

// What is reported when the plan is executed with these pointers; its execution is refused.
std::string report_of(const Planned& p, void* input, void* workspace) {
  const cudnnBackendDescriptor_t pack = make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, input ? 1 : 0, &kInput);
  set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, input ? 1 : 0, &input);
  set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  cudnnHandle_t handle = nullptr;
  EXPECT_EQ(cudnnCreate(&handle), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(cudnnBackendExecute(handle, p.plan, pack), CUDNN_STATUS_NOT_SUPPORTED);
  cudnnDestroy(handle);
  std::string text;
  for (const Report& report : simulator().reports.all()) text += report.sentence + "\n";
  simulator().reports.clear();
  return text;
}

TEST(Cudnn, RefusesEverythingUnlessAskedOtherwise) {
  with_refusals("0", [] {
    cudnnHandle_t handle = nullptr;
    EXPECT_EQ(cudnnCreate(&handle), CUDNN_STATUS_NOT_SUPPORTED);
  });
}

TEST(Cudnn, RefusesAtTheStageThatIsSet) {
  for (const char* stage : {"graph", "engines", "plan"}) {
    with_refusals(stage, [&] { EXPECT_EQ(planned().refused_at, stage); });
  }
  with_refusals("execution", [] {
    const Planned p = planned();
    EXPECT_EQ(p.refused_at, "");
    EXPECT_LT(p.workspace, int64_t{1} << 20);
  });
  with_refusals("workspace", [] { EXPECT_EQ(planned().workspace, int64_t{3} << 30); });
}

TEST(Cudnn, DrawsAStageForEachGraph) {
  with_refusals("1", [] {
    std::map<std::string, int> found;
    for (int graphs = 0; graphs < 100; ++graphs) {
      const Planned p = planned();
      ++found[p.workspace > 0 ? std::to_string(p.workspace) : p.refused_at];
    }
    EXPECT_EQ(found.size(), 5);
  });
}

TEST(Cudnn, HoldsPointersToWhatTheirTensorsPromise) {
  with_refusals("execution", [] {
    const Planned p = planned();
    const OnDevice<std::byte> memory(64), workspace(static_cast<size_t>(p.workspace));
    EXPECT_EQ(report_of(p, memory.p + 16, workspace.p), "");
    EXPECT_EQ(report_of(p, memory.p + 32, workspace.p), "");  // 24 bytes are read
    EXPECT_THAT(report_of(p, memory.p + 8, workspace.p),
                HasSubstr("tensor 7 does not begin at a multiple of 16 bytes, as promised"));
    EXPECT_THAT(report_of(p, memory.p + 48, workspace.p), HasSubstr("tensor 7: 24 bytes reach 8 past the end"));
    EXPECT_THAT(report_of(p, nullptr, workspace.p), HasSubstr("tensor 7 has no pointer"));
    EXPECT_THAT(report_of(p, memory.p, nullptr), HasSubstr("the workspace is in no memory"));
    EXPECT_THAT(report_of(p, memory.p, memory.p), HasSubstr("the workspace: 4096 bytes reach 4032 past the end"));
  });
}

TEST(Cudnn, AnUnknownStageIsRefusedWithThoseThatThereAre) {
  expect_setting_is_refused(
      "WEFT_CUDA_DEVICE_CUDNN", "often",
      "WEFT_CUDA_DEVICE_CUDNN is 'often', not a whole number nor one of graph, engines, plan, workspace, execution");
}

}  // namespace
}  // namespace weft::cuda_device
