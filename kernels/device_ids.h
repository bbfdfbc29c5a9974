#pragma once
#include <string>
#include <vector>

namespace weft {

// The CUDA devices that this process sees, in its order, each by a name that no other device in the world has:
// "GPU-4a1c2f9e-...". Empty where there are none.
std::vector<std::string> cuda_device_ids();

}  // namespace weft
