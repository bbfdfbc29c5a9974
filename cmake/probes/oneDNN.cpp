// SPDX-License-Identifier: Apache-2.0
#include <dnnl.hpp>
int main() { return dnnl::engine(dnnl::engine::kind::cpu, 0).get_kind() != dnnl::engine::kind::cpu; }
