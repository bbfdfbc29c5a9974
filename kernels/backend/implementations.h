// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/backend/scratch.h"
#include "kernels/ops/operations.h"

namespace weft {

class Backend;

// How a backend runs one operation. The arguments have been checked.
template <class Args>
struct Implementation {
  size_t (*workspace)(const Backend&, const Args&);  // bytes of scratch that run() takes
  void (*run)(Backend&, const Args&, Scratch);
};

// One implementation of each operation, found by the type of its arguments.
template <class... Lists>
struct ImplementationTable;
template <class... Scratched, class... Plain>
struct ImplementationTable<OperationList<Scratched...>, OperationList<Plain...>> : Implementation<Scratched>...,
                                                                                   Implementation<Plain>... {};
using Implementations = ImplementationTable<ScratchOperations, PlainOperations>;

// The member functions of a backend B for one operation:
//   size_t workspace(const Args&) const and void run(const Args&, Scratch) if it is one of ScratchOperations,
//   void run(const Args&) if it is one of PlainOperations.
template <class B, class Args>
constexpr Implementation<Args> implementation() {
  if constexpr (ScratchOperations::contains<Args>) {
    return {.workspace = [](const Backend& b, const Args& args) { return static_cast<const B&>(b).workspace(args); },
            .run = [](Backend& b, const Args& args, Scratch scratch) { static_cast<B&>(b).run(args, scratch); }};
  } else {
    return {.workspace = [](const Backend&, const Args&) { return size_t{0}; },
            .run = [](Backend& b, const Args& args, Scratch) { static_cast<B&>(b).run(args); }};
  }
}

template <class B, class... Scratched, class... Plain>
constexpr Implementations implementations_in(OperationList<Scratched...>, OperationList<Plain...>) {
  return {implementation<B, Scratched>()..., implementation<B, Plain>()...};
}

// The table of a backend B, for its constructor. B's member functions are templates, specialised in the file of each
// operation: the linker names one that is missing.
template <class B>
constexpr Implementations implementations_of() {
  return implementations_in<B>(ScratchOperations{}, PlainOperations{});
}

}  // namespace weft
