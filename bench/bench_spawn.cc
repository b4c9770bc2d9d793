// SPDX-License-Identifier: Apache-2.0
// The floor under anything that runs processes: two loops that spawn a program and wait for it.
//
//   bench_spawn JOBS [LOOPS [PROGRAM [ARGUMENT…]]]     prints processes a second
//
// "{}" as an argument stands for a new file of each job, in the current directory.
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
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
  std::vector<std::string> command(argv + std::min(argc, 3), argv + argc);
  if (command.empty()) {
    command = {"/bin/true"};
  }
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (int i = 0; i < loops; ++i) {
    threads.emplace_back([&, i] {
      for (int job = 0; job < jobs / loops; ++job) {
        std::string file = "job-" + std::to_string(job * loops + i);
        std::vector<char*> arguments;
        for (std::string& word : command) {
          arguments.push_back(word == "{}" ? file.data() : word.data());
        }
        arguments.push_back(nullptr);
        pid_t pid = 0;
        int status = 0;
        if (posix_spawn(&pid, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0 ||
            waitpid(pid, &status, 0) != pid || status != 0) {
          std::perror(arguments[0]);
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
