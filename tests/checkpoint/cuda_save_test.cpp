// SPDX-License-Identifier: Apache-2.0
// Saves of tensors on a CUDA device: copied beside the device's work, written by a thread that waits for the copy.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "checkpoint/run_state.h"
#include "kernels/ops/elementwise.h"
#include "tests/checkpoint/fixture.h"
#include "tests/support/error_of.h"

namespace weft {
namespace {

using namespace test;

using testing::HasSubstr;

// A model with random values, and its checkpoint writer.
struct Saved {
  Saved(Context& on, const fs::path& directory) : context(on), registry(on, mesh), writer(directory, on, mesh.world()) {
    declare(registry);
    registry.initialise(3);
  }
  void start(int64_t step) {
    writer.start({.step = step, .state = to_json(RunState{}), .job = "name: test\n"},
                 owned_arrays(registry, std::vector<NamedBuffer>{{"master", registry.master()}}));
  }
  // Changes the parameters as an update does.
  void change() {
    await_snapshots(context);
    fill(context, registry.master().data, -1);
  }

  Context& context;
  Mesh mesh = Mesh::single();
  ParameterRegistry registry;
  CheckpointWriter writer;
};

class CudaSave : public Checkpoints {};

TEST_F(CudaSave, ChangesAfterTheStartOfASaveAreNotInTheFile) {
  Context cpu, cuda(Device{DeviceKind::Cuda});
  Saved expected(cpu, directory_ / "cpu"), found(cuda, directory_ / "cuda");
  expected.start(1);
  const fs::path of_cpu = expected.writer.finish().path;
  found.start(1);
  found.change();
  EXPECT_EQ(tensor_hashes(found.writer.finish().path), tensor_hashes(of_cpu));
  found.start(2);
  EXPECT_NE(tensor_hashes(found.writer.finish().path), tensor_hashes(of_cpu));
}

// The run ended by an error while a save was under way: its model and the memory of the copies are gone at once.
TEST_F(CudaSave, AnUnfinishedSaveEndsInOrder) {
  Context cuda(Device{DeviceKind::Cuda});
  {
    Saved saved(cuda, directory_);
    saved.start(1);
    saved.change();
  }
  EXPECT_TRUE(list_checkpoints(directory_).empty());
}

constexpr int kAsWanted = 7;

// 0: nothing failed, or something failed before the save; kAsWanted: the save ended with the device's error.
int save_that_fails(const fs::path& directory) {
  std::unique_ptr<Context> cuda;
  std::unique_ptr<Saved> saved;
  try {
    cuda = std::make_unique<Context>(Device{DeviceKind::Cuda});
    saved = std::make_unique<Saved>(*cuda, directory);
    saved->change();
  } catch (const Error&) {
    return 0;
  }
  // What is to be copied is hashed first, which waits for the kernel.
  const std::string error = error_of([&] { saved->start(1), saved->writer.finish(); });
  if (error == "no error") return 0;
  EXPECT_THAT(error, HasSubstr("unspecified launch failure"));
  EXPECT_TRUE(list_checkpoints(directory).empty());
  saved.reset();  // the destructors log that the device failed, and end
  cuda.reset();
  return testing::Test::HasFailure() ? 1 : kAsWanted;
}

// The first, second, ... kernel fails, up to the one before the copy: each in a new process, since a failed
// device stays failed in its process.
TEST_F(CudaSave, ADeviceThatFailsBeforeTheCopyIsNamed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  int answer = 0;
  for (int n = 1; n < 60 && answer == 0; ++n) {
    setenv("WEFT_CUDA_DEVICE_FAIL_KERNEL", std::to_string(n).c_str(), 1);
    const auto body = [&] {
      const int found = save_that_fails(directory_);
      fs::remove_all(directory_);
      return found;
    };
    const auto answered = [&](int status) {
      answer = WEXITSTATUS(status);
      return WIFEXITED(status);
    };
    EXPECT_EXIT(_exit(body()), answered, "");
  }
  unsetenv("WEFT_CUDA_DEVICE_FAIL_KERNEL");
  EXPECT_EQ(answer, kAsWanted);
}

}  // namespace
}  // namespace weft
