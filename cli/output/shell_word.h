// SPDX-License-Identifier: Apache-2.0
// Words of command lines that users copy into a shell.
//
// Thread-safe (stateless).
#ifndef CONCUR_CLI_OUTPUT_SHELL_WORD_H_
#define CONCUR_CLI_OUTPUT_SHELL_WORD_H_

#include <string>

namespace concur::cli {

// `word` as a shell reads it, quoted where it must be.
std::string ShellWord(const std::string& word);

}  // namespace concur::cli

#endif  // CONCUR_CLI_OUTPUT_SHELL_WORD_H_
