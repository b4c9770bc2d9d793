// SPDX-License-Identifier: Apache-2.0
// Runs `concur` in this process and keeps what it prints.
//
// Stateless.
#ifndef CONCUR_TESTS_CLI_RUN_CONCUR_H_
#define CONCUR_TESTS_CLI_RUN_CONCUR_H_

#include <string>
#include <vector>

namespace concur::cli {

struct Output {
  int code = 0;
  std::string out;
  std::string err;
};
// `typed`: what somebody answers; nobody is there without.
Output RunConcur(const std::vector<std::string>& args, bool out_is_terminal = false,
                 const char* typed = nullptr);

}  // namespace concur::cli

#endif  // CONCUR_TESTS_CLI_RUN_CONCUR_H_
