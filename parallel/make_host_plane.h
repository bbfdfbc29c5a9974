// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>

#include "parallel/host_plane.h"
#include "parallel/mesh.h"

namespace weft {

// Makes the host plane of a rank's place on an axis, for communicators that implement only a device plane.
using MakeHostPlane = std::function<std::unique_ptr<HostPlane>(const AxisPlace&)>;

}  // namespace weft
