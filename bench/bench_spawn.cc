// SPDX-License-Identifier: Apache-2.0
// The floor under anything that runs processes: two loops that spawn a program and wait for it.
//
//   bench_spawn JOBS [LOOPS [PROGRAM]]     prints processes a second
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

extern char** environ;

int main(int argc, char** argv) {
  const int jobs = argc > 1 ? std::atoi(argv[1]) : 5000;
  const int loops = argc > 2 ? std::atoi(argv[2]) : 2;
  std::string program = argc > 3 ? argv[3] : "/bin/true";
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (int i = 0; i < loops; ++i) {
    threads.emplace_back([&] {
      char* arguments[] = {program.data(), nullptr};
      for (int job = 0; job < jobs / loops; ++job) {
        pid_t pid = 0;
        int status = 0;
        if (posix_spawn(&pid, program.c_str(), nullptr, nullptr, arguments, environ) != 0 ||
            waitpid(pid, &status, 0) != pid || status != 0) {
          std::perror(program.c_str());
          std::exit(1);
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("%.1f\n", jobs / loops * loops / seconds.count());
}
