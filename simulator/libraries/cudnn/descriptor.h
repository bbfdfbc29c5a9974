// SPDX-License-Identifier: Apache-2.0
// What a program describes to cuDNN: graphs of operations and tensors, engines, plans, pointers. A descriptor is its
// attributes, whatever they mean.
#pragma once

#include <cudnn.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "simulator/runtime/settings.h"

namespace weft::cuda_device {

struct Descriptor {
  struct Value {
    cudnnBackendAttributeType_t type = CUDNN_TYPE_INT64;
    int64_t count = 0;
    // Descriptors are objects, everything else is bytes.
    std::vector<std::byte> bytes;
    std::vector<std::shared_ptr<Descriptor>> objects;
  };

  cudnnBackendDescriptorType_t type;
  std::map<cudnnBackendAttributeName_t, Value> values;
  CudnnStage refused_at = CudnnStage::Library;  // a graph, whose stage may be drawn

  // The numbers of an attribute, which may be absent.
  std::vector<int64_t> numbers(cudnnBackendAttributeName_t name) const;
  int64_t number(cudnnBackendAttributeName_t name, int64_t otherwise = 0) const;
  std::vector<void*> pointers(cudnnBackendAttributeName_t name) const;
  std::shared_ptr<Descriptor> object(cudnnBackendAttributeName_t name) const;  // null: none
};

// The descriptors that the program has; others that it has described them by stay alive.
cudnnBackendDescriptor_t keep(std::shared_ptr<Descriptor> descriptor);
std::shared_ptr<Descriptor> kept(cudnnBackendDescriptor_t descriptor);
void drop(cudnnBackendDescriptor_t descriptor);

Descriptor::Value value_of(cudnnBackendAttributeType_t type, int64_t count, const void* elements);
// Copies at most `most` elements; descriptors among them are filled in.
void copy_out(const Descriptor::Value& value, int64_t most, int64_t* count, void* elements);

}  // namespace weft::cuda_device
