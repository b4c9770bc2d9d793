// SPDX-License-Identifier: Apache-2.0
// A library to preload (LD_PRELOAD) into a program that a soak must find to leak: memory,
// descriptors and threads of the program, and files in $CONCUR_SOAK_LEAK_FILES.
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace {

constexpr size_t kBytesPerTurn = size_t{256} * 1024;
constexpr int kTurnMicros = 20'000;
constexpr int kTurnsPerThread = 10;

void* Wait(void* /*unused*/) {
  for (;;) {
    pause();
  }
}

void StartThread(void* (*function)(void*)) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, size_t{64} * 1024);
  pthread_create(&thread, &attributes, function, nullptr);
  pthread_attr_destroy(&attributes);
}

void* Leak(void* /*unused*/) {
  const char* const directory = getenv("CONCUR_SOAK_LEAK_FILES");
  for (int turn = 0;; ++turn) {
    void* const memory = malloc(kBytesPerTurn);
    if (memory != nullptr) {
      memset(memory, turn | 1, kBytesPerTurn);
    }
    open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (turn % kTurnsPerThread == 0) {
      StartThread(Wait);
    }
    if (directory != nullptr) {
      const std::string path = std::string(directory) + "/leaked-" + std::to_string(turn);
      close(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    }
    usleep(kTurnMicros);
  }
}

__attribute__((constructor)) void StartLeak() { StartThread(Leak); }

}  // namespace
