// SPDX-License-Identifier: Apache-2.0
// cuDNN computes nothing here: it refuses. The settings choose when, from the first call to the last, so that a
// program's way without it is taken from each place where it may have to be.
#include <cudnn.h>

#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>

#include "simulator/libraries/cudnn/descriptor.h"
#include "simulator/libraries/cudnn/execution.h"
#include "simulator/runtime/simulator.h"

using namespace weft::cuda_device;

namespace {

constexpr int64_t kWorkspace = 4096, kLargeWorkspace = int64_t{3} << 30;

struct Handle {
  cudaStream_t stream = nullptr;
};

// A longer description of the last refusal.
std::string& last_words() {
  static thread_local std::string words;
  return words;
}

cudnnStatus_t not_supported(const std::string& what) {
  last_words() = "the simulated cuDNN supports no " + what + " (WEFT_CUDA_DEVICE_CUDNN)";
  return CUDNN_STATUS_NOT_SUPPORTED;
}

template <class Body>
cudnnStatus_t locked(Body&& body) {
  Simulator& all = simulator();
  const std::lock_guard lock(all.mutex);
  return body(all);
}

std::shared_ptr<Descriptor> described(cudnnBackendDescriptorType_t type) {
  return std::make_shared<Descriptor>(Descriptor{.type = type, .values = {}});
}

// Where the graph is refused that the descriptor is about.
CudnnStage stage_of(const Descriptor& descriptor) {
  for (const auto name : {CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_ATTR_ENGINE_OPERATION_GRAPH,
                          CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG})
    if (const auto of = descriptor.object(name)) return stage_of(*of);
  return descriptor.refused_at;
}

cudnnStatus_t finalize(Simulator& all, Descriptor& d) {
  if (d.type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
    static uint64_t graphs = 0;
    d.refused_at = all.settings.cudnn.of_graph(graphs++);
    if (d.refused_at == CudnnStage::Graph) return not_supported("graph of these operations");
  }
  if (d.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR && stage_of(d) == CudnnStage::Plan)
    return not_supported("plan of this engine");
  return CUDNN_STATUS_SUCCESS;
}

int64_t workspace_of(const Descriptor& plan) {
  return stage_of(plan) == CudnnStage::Workspace ? kLargeWorkspace : kWorkspace;
}

// Attributes that the library computes: one engine computes each graph, without choices or anything to note.
Descriptor::Value computed(const Descriptor& d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) {
  const auto number = [](int64_t value) { return value_of(CUDNN_TYPE_INT64, 1, &value); };
  const auto one = [](const std::shared_ptr<Descriptor>& object) {
    return Descriptor::Value{.type = CUDNN_TYPE_BACKEND_DESCRIPTOR, .count = 1, .bytes = {}, .objects = {object}};
  };
  if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS) {
    if (stage_of(d) == CudnnStage::Engines) return {.type = type};
    const auto engine = described(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    engine->values[CUDNN_ATTR_ENGINE_OPERATION_GRAPH] = one(d.object(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH));
    const auto config = described(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    config->values[CUDNN_ATTR_ENGINECFG_ENGINE] = one(engine);
    return one(config);
  }
  if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE || name == CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE)
    return number(workspace_of(d));
  if (name == CUDNN_ATTR_ENGINE_GLOBAL_INDEX) return number(0);
  if (name == CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED) {
    const int32_t none = 0;
    return value_of(CUDNN_TYPE_INT32, 1, &none);
  }
  return {.type = type};
}

}  // namespace

extern "C" {

size_t cudnnGetVersion() { return CUDNN_VERSION; }
size_t cudnnGetCudartVersion() { return CUDART_VERSION; }

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  return locked([&](Simulator& all) {
    if (all.settings.cudnn.stage == CudnnStage::Library && all.settings.cudnn.draw == 0)
      return CUDNN_STATUS_NOT_SUPPORTED;
    *handle = reinterpret_cast<cudnnHandle_t>(new Handle);
    return CUDNN_STATUS_SUCCESS;
  });
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete reinterpret_cast<Handle*>(handle);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  reinterpret_cast<Handle*>(handle)->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  *stream = reinterpret_cast<Handle*>(handle)->stream;
  return CUDNN_STATUS_SUCCESS;
}
const char* cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_SUCCESS:
      return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_NOT_SUPPORTED:
      return "CUDNN_STATUS_NOT_SUPPORTED: cuDNN is not simulated";
    default:
      return "CUDNN_STATUS_BAD_PARAM";
  }
}
void cudnnGetLastErrorString(char* text, size_t most) { std::snprintf(text, most, "%s", last_words().c_str()); }

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* descriptor) {
  return locked([&](Simulator&) {
    *descriptor = keep(described(type));
    return CUDNN_STATUS_SUCCESS;
  });
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  return locked([&](Simulator&) {
    drop(descriptor);
    return CUDNN_STATUS_SUCCESS;
  });
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count, const void* elements) {
  return locked([&](Simulator&) {
    const auto d = kept(descriptor);
    if (!d) return CUDNN_STATUS_BAD_PARAM;
    d->values[name] = value_of(type, count, elements);
    return CUDNN_STATUS_SUCCESS;
  });
}
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t most, int64_t* count, void* elements) {
  return locked([&](Simulator&) {
    const auto d = kept(descriptor);
    if (!d) return CUDNN_STATUS_BAD_PARAM;
    const auto set = d->values.find(name);
    copy_out(set != d->values.end() ? set->second : computed(*d, name, type), most, count, elements);
    return CUDNN_STATUS_SUCCESS;
  });
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  return locked([&](Simulator& all) {
    const auto d = kept(descriptor);
    return d ? finalize(all, *d) : CUDNN_STATUS_BAD_PARAM;
  });
}
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack) {
  return locked([&](Simulator& all) {
    const auto p = kept(plan), v = kept(pack);
    if (!p || !v) return CUDNN_STATUS_BAD_PARAM;
    if (const std::string said = broken_promise(all, *p, *v, workspace_of(*p)); !said.empty())
      all.reports.add(ReportKind::Runtime, "cudnnBackendExecute: " + said);
    return not_supported("execution of this plan");
  });
}

}  // extern "C"
