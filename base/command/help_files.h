// SPDX-License-Identifier: Apache-2.0
// Man pages and shell completion of a program, made from the commands and options that it parses.
// Thread-safe (stateless functions).
#ifndef CONCUR_BASE_COMMAND_HELP_FILES_H_
#define CONCUR_BASE_COMMAND_HELP_FILES_H_

#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
}  // namespace CLI

namespace concur {

// A file of `WriteHelp`, named from a "share" directory.
struct HelpFile {
  std::string path;  // "man/man1/concur-sweep.1"
  std::string text;
};

// A man page of the program and one of each of its commands; completion for bash, zsh and fish.
std::vector<HelpFile> HelpFilesOf(const CLI::App& program);

// Lists what may stand where a value of a type is expected ("SWEEP"), with its meaning; `prefix` is
// what was typed of it.
using ListNames = std::function<std::vector<std::pair<std::string, std::string>>(
    const std::string& type, const std::string& prefix)>;

// Completions of the last of `words` (which may be ""), one a line: "NAME\tMEANING\n". "" where
// a value is expected that neither the program nor `list` can list, such as a file.
std::string CompletionsOf(const CLI::App& program, const std::vector<std::string>& words,
                          const ListNames& list = {});

// Does what every program does before it parses its command line, when the first argument asks:
//   --write-help DIR      writes the HelpFilesOf(program) to DIR
//   --complete [WORD…]    prints the CompletionsOf(program, words, list)
// The exit code; nullopt when neither was asked for.
std::optional<int> AnswerHelpRequest(const CLI::App& program, const std::vector<std::string>& args,
                                     std::ostream& out, std::ostream& err,
                                     const ListNames& list = {});

}  // namespace concur

#endif  // CONCUR_BASE_COMMAND_HELP_FILES_H_
