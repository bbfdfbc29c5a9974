// SPDX-License-Identifier: Apache-2.0
// A library that is preloaded into the ranks of a run (LD_PRELOAD). It recognises a rank's phase by the paths and the
// metrics of its calls, and at one call kills, stops or signals a rank, or makes the call fail or write half.
// tests/chaos/chaos.py drives it:
//   WEFT_FAULT=PHASE:NTH:RANK:ACTION:VICTIM:MILLISECONDS   does ACTION, MILLISECONDS after RANK's NTH call of PHASE
//   WEFT_FAULT_FOLDER   holds the ranks' process ids, and a file `hit` that names the phase in which the fault came
// PHASE: start, thread (a thread begins), load, data (a read of the dataset), step, evaluation, snapshot, write,
// commit, retention. ACTION: a signal's number, which VICTIM gets, a rank or mpirun; or, of RANK's own call, the name
// of an errno (kErrors), done (it does its work and says EIO), cut (it does half of its work), or stall (it takes
// MILLISECONDS longer).
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/chaos/preload.h"

namespace {

using namespace weft::test;

// Writes the text with one write(2), so that a kill leaves all of it or nothing.
void leave(const std::string& path, const std::string& text) {
  using Open = int (*)(const char*, int, ...);
  using Write = ssize_t (*)(int, const void*, size_t);
  const int file = real<Open>("open")(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = real<Write>("write")(file, text.data(), text.size());
  close(file);
}

struct Plan {
  std::string phase, action, rank, victim, folder;
  int nth = 0, milliseconds = 0;
  bool mine = false;

  Plan() : folder(text_of("WEFT_FAULT_FOLDER")) {
    const std::vector<std::string> words = words_of(text_of("WEFT_FAULT"));
    const std::string me = text_of("OMPI_COMM_WORLD_RANK");
    if (words.size() != 6 || me.empty()) return;
    phase = words[0], nth = atoi(words[1].c_str()), rank = words[2], action = words[3], victim = words[4];
    milliseconds = atoi(words[5].c_str());
    mine = me == rank;
    leave(folder + "/rank-" + me, std::to_string(getpid()));
    leave(folder + "/rank-mpirun", std::to_string(getppid()));
  }
};

const Plan& plan() {
  static const Plan made;
  return made;
}

std::atomic<int> seen{0};
std::atomic<bool> begun{false}, trained{false};  // the work on the run, after MPI's beginning; its steps

// The victim may not have begun yet.
FILE* opened_when_there(const std::string& path) {
  for (int i = 0; i < 1000; ++i) {
    if (FILE* file = fopen(path.c_str(), "r")) return file;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return nullptr;
}

void signal_victim(int number) {
  std::array<char, 32> text{};
  FILE* file = opened_when_there(plan().folder + "/rank-" + plan().victim);
  if (!file) return;
  const size_t size = fread(text.data(), 1, text.size() - 1, file);
  fclose(file);
  pid_t process = 0;
  std::from_chars(text.data(), text.data() + size, process);
  if (process > 0) kill(process, number);
}

constexpr std::pair<std::string_view, int> kErrors[] = {
    {"EAGAIN", EAGAIN}, {"EIO", EIO}, {"EMFILE", EMFILE}, {"ENOSPC", ENOSPC}, {"EROFS", EROFS}};
int error_of(std::string_view name) {
  for (const auto& [known, number] : kErrors) {
    if (known == name) return number;
  }
  return EIO;
}

enum class Verdict { Go, Fail, Done, Half };

// Counts a call of a phase: before the call is made, or after it if the call begins the phase.
Verdict at(std::string_view phase, const char* call, const std::string& path) {
  const Plan& p = plan();
  if (!p.mine || phase != p.phase || seen.fetch_add(1) + 1 != p.nth) return Verdict::Go;
  leave(p.folder + "/hit", std::string(phase) + " " + call + " " + path);
  if (p.action == "cut") return Verdict::Half;
  if (p.action == "done") return Verdict::Done;
  if (p.action == "stall") {
    std::this_thread::sleep_for(std::chrono::milliseconds(p.milliseconds));
    return Verdict::Go;
  }
  const int number = atoi(p.action.c_str());
  if (number == 0) return Verdict::Fail;
  if (p.milliseconds == 0) {
    signal_victim(number);
  } else {
    std::thread([number] {
      std::this_thread::sleep_for(std::chrono::milliseconds(plan().milliseconds));
      signal_victim(number);
    }).detach();
  }
  return Verdict::Go;
}

// The state of a path below checkpoints/: step-7 is committed, step-7.2.tmp is being written by attempt 2, step-7.tmp
// is being deleted.
enum class Of { Elsewhere, Committed, Unfinished, Doomed };
Of checkpoint_of(std::string_view path, std::string_view& rest) {
  constexpr std::string_view kBegins = "checkpoints/step-", kDigits = "0123456789", kTmp = ".tmp";
  const size_t begins = path.find(kBegins);
  if (begins == std::string_view::npos) return Of::Elsewhere;
  rest = path.substr(begins + kBegins.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(kDigits), rest.size()));
  Of of = Of::Committed;
  if (rest.starts_with(kTmp)) {
    of = Of::Doomed;
  } else if (rest.starts_with(".")) {
    of = Of::Unfinished;
  }
  rest.remove_prefix(std::min(rest.find('/'), rest.size()));
  return of;
}

// The phase of a rank that opens, renames or removes `path`; "" if any phase may do so.
std::string_view phase_of(std::string_view call, const std::string& path) {
  std::string_view inside;
  switch (checkpoint_of(path, inside)) {
    case Of::Doomed:
      return "retention";
    case Of::Committed:
      if (call == "rename" || call == "unlink") return "retention";
      return call == "open" && !trained ? "load" : "";
    case Of::Unfinished:
      if (call == "mkdir") return "snapshot";  // by the rank that comes first
      if (has(inside, "manifest.json") || call == "unlink" || (call == "rename" && inside.size() <= 1)) return "commit";
      if (inside.size() <= 1) return "";
      return call == "open" ? "snapshot" : "write";  // each rank opens its part before its tensors are copied
    case Of::Elsewhere:
      break;
  }
  if (call != "open" || trained) return "";
  if (!has(path, "run.lock") && !has(path, "/data/") && !path.starts_with("data/")) return "";
  begun = true;
  return "start";
}

Verdict before(const char* call, const std::string& path) {
  const std::string_view phase = phase_of(call, path);
  return phase.empty() ? Verdict::Go : at(phase, call, path);
}

// The line of the metrics that reports a step is written before the next phase begins.
bool says_step(std::string_view line) { return has(line, "\"event\":\"train\""); }
bool before_evaluation(std::string_view line) {
  static const int every = std::max(atoi(text_of("WEFT_FAULT_EVALUATES").c_str()), 1);
  const size_t at = line.find("\"step\":");
  return at != std::string_view::npos && atoi(line.data() + at + 7) % every == 0;
}

// Makes a call, or fails as the verdict says.
template <class Call>
auto made(Verdict verdict, Call&& make) -> decltype(make()) {
  if (verdict == Verdict::Go || verdict == Verdict::Half) return make();
  if (verdict == Verdict::Done) make();
  errno = error_of(plan().action);
  return -1;
}

template <class Write>
ssize_t written(int descriptor, const void* bytes, size_t size, const char* call, Write&& write) {
  if (!plan().mine || size == 0) return write(size);
  const std::string path = path_of(descriptor);
  const std::string_view text(static_cast<const char*>(bytes), size);
  if (has(path, "metrics.jsonl") && says_step(text)) {
    trained = true;
    const bool evaluates = before_evaluation(text);
    if (evaluates && plan().phase == "evaluation") {
      const ssize_t result = write(size);
      at("evaluation", call, path);
      return result;
    }
    const Verdict verdict = at("step", call, path);
    return made(verdict, [&] { return write(verdict == Verdict::Half ? size / 2 : size); });
  }
  const Verdict verdict = before(call, path);
  return made(verdict, [&] { return write(verdict == Verdict::Half ? (size + 1) / 2 : size); });
}

// Reads of the dataset: what is opened, and the tokens of each batch.
template <class Read>
ssize_t fetched(int descriptor, size_t size, Read&& read) {
  if (!plan().mine || plan().phase != "data" || size == 0) return read(size);
  const std::string path = path_of(descriptor);
  if (!has(path, "/data/")) return read(size);
  const Verdict verdict = at("data", "pread", path);
  return made(verdict, [&] { return read(verdict == Verdict::Half ? (size + 1) / 2 : size); });
}

template <class Call>
int done(const char* call, const std::string& path, Call&& make) {
  return plan().mine ? made(before(call, path), make) : make();
}

// The path of the library that holds this code.
std::string library_of(const void* code) {
  Dl_info found{};
  return dladdr(code, &found) != 0 && found.dli_fname ? found.dli_fname : "";
}

}  // namespace

int weft::test::opened(int folder, const char* path, int flags, mode_t mode) {
  using Openat = int (*)(int, const char*, int, ...);
  static const auto openat_ = real<Openat>("openat");
  const auto open_it = [&] { return openat_(folder, path, flags, mode); };
  return plan().mine ? made(before("open", path_at(folder, path)), open_it) : open_it();
}

extern "C" {

ssize_t write(int descriptor, const void* bytes, size_t size) {
  static const auto next = real<ssize_t (*)(int, const void*, size_t)>("write");
  return written(descriptor, bytes, size, "write", [&](size_t n) { return next(descriptor, bytes, n); });
}
ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  static const auto next = real<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite");
  return written(descriptor, bytes, size, "pwrite", [&](size_t n) { return next(descriptor, bytes, n, offset); });
}
ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off64_t offset) {
  static const auto next = real<ssize_t (*)(int, const void*, size_t, off64_t)>("pwrite64");
  return written(descriptor, bytes, size, "pwrite", [&](size_t n) { return next(descriptor, bytes, n, offset); });
}
ssize_t pread(int descriptor, void* bytes, size_t size, off_t offset) {
  static const auto next = real<ssize_t (*)(int, void*, size_t, off_t)>("pread");
  return fetched(descriptor, size, [&](size_t n) { return next(descriptor, bytes, n, offset); });
}
ssize_t pread64(int descriptor, void* bytes, size_t size, off64_t offset) {
  static const auto next = real<ssize_t (*)(int, void*, size_t, off64_t)>("pread64");
  return fetched(descriptor, size, [&](size_t n) { return next(descriptor, bytes, n, offset); });
}
int fsync(int descriptor) {
  static const auto next = real<int (*)(int)>("fsync");
  return done("fsync", plan().mine ? path_of(descriptor) : "", [&] { return next(descriptor); });
}
int fdatasync(int descriptor) {
  static const auto next = real<int (*)(int)>("fdatasync");
  return done("fsync", plan().mine ? path_of(descriptor) : "", [&] { return next(descriptor); });
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*), void* argument) {
  static const auto next = real<int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  // std::thread's: a thread of MPI that does not start ends the process in MPI's own way.
  const bool ours = plan().mine && begun && has(library_of(__builtin_return_address(0)), "libstdc++");
  if (ours && at("thread", "pthread_create", "") == Verdict::Fail) return error_of(plan().action);
  return next(thread, attributes, work, argument);
}
int mkdir(const char* path, mode_t mode) {
  static const auto next = real<int (*)(const char*, mode_t)>("mkdir");
  return done("mkdir", path, [&] { return next(path, mode); });
}
int rename(const char* from, const char* to) {
  static const auto next = real<int (*)(const char*, const char*)>("rename");
  return done("rename", from, [&] { return next(from, to); });
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  static const auto next = real<int (*)(int, const char*, int, const char*, unsigned)>("renameat2");
  return done("rename", from, [&] { return next(from_folder, from, to_folder, to, flags); });
}
int unlink(const char* path) {
  static const auto next = real<int (*)(const char*)>("unlink");
  return done("unlink", path, [&] { return next(path); });
}
int unlinkat(int folder, const char* path, int flags) {
  static const auto next = real<int (*)(int, const char*, int)>("unlinkat");
  return done("unlink", plan().mine ? path_at(folder, path) : "", [&] { return next(folder, path, flags); });
}
int remove(const char* path) {
  static const auto next = real<int (*)(const char*)>("remove");
  return done("unlink", path, [&] { return next(path); });
}

}  // extern "C"

// Leaves the process id before the program begins.
__attribute__((constructor)) static void begin() { plan(); }
