#pragma once
#include "kernels/optimizer.h"

namespace weft::cpu {

void adam_update(const AdamUpdate& args, int threads);
void sgd_update(const SgdUpdate& args, int threads);

}  // namespace weft::cpu
