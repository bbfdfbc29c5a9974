#pragma once
#include "kernels/cross_entropy.h"

namespace weft::cpu {

void cross_entropy_stats(const CrossEntropyStats& args, int threads);
void cross_entropy_rebase(const CrossEntropyRebase& args);
void cross_entropy_loss(const CrossEntropyLoss& args);
void cross_entropy_gradient(const CrossEntropyGradient& args, int threads);

}  // namespace weft::cpu
