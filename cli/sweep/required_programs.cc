// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep/required_programs.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace concur::cli {
namespace {

const std::set<std::string>& Builtins() {
  static const auto& builtins = *new std::set<std::string>{
      ".",       ":",    "[",    "alias", "break",  "cd",     "command", "continue",
      "echo",    "eval", "exec", "exit",  "export", "false",  "for",     "case",
      "esac",    "fi",   "done", "}",     "read",   "return", "set",     "shift",
      "test",    "trap", "true", "umask", "unset",  "wait",   "printf",  "local",
      "getopts", "hash", "kill", "pwd",   "times",  "ulimit"};
  return builtins;
}

// Shell keywords after which a command begins.
const std::set<std::string>& Prefixes() {
  static const auto& prefixes = *new std::set<std::string>{
      "if", "then", "else", "elif", "while", "until", "do", "!", "{", "exec", "command"};
  return prefixes;
}

// Splits a script. Quotes join words; "$(" to its ")" is part of a word.
class Splitter {
 public:
  explicit Splitter(absl::string_view script) : script_(script) {}

  std::vector<std::vector<std::string>> Split() {
    while (at_ < script_.size()) {
      Step();
    }
    EndCommand();
    return std::move(commands_);
  }

 private:
  char Peek(size_t ahead) const {
    return at_ + ahead < script_.size() ? script_[at_ + ahead] : '\0';
  }
  void Take(char c) {
    word_.push_back(c);
    in_word_ = true;
  }
  void EndWord() {
    if (!in_word_) {
      return;
    }
    if (here_expected_) {
      here_ends_.push_back(word_);
      here_expected_ = false;
    } else if (redirected_) {
      redirected_ = false;
    } else {
      words_.push_back(word_);
    }
    word_.clear();
    in_word_ = false;
  }
  void EndCommand() {
    EndWord();
    if (!words_.empty()) {
      commands_.push_back(std::move(words_));
    }
    words_.clear();
  }

  // A quoted part: up to the closing quote, which may be lines away.
  void Quoted(char quote) {
    in_word_ = true;
    for (++at_; at_ < script_.size() && script_[at_] != quote; ++at_) {
      if (quote == '"' && script_[at_] == '\\' && at_ + 1 < script_.size()) {
        ++at_;
      }
      word_.push_back(script_[at_]);
    }
    ++at_;
  }
  // "$(…)" and "$((…))", taken as they stand.
  void Substitution() {
    int depth = 0;
    do {
      depth += script_[at_] == '(' ? 1 : script_[at_] == ')' ? -1 : 0;
      Take(script_[at_++]);
    } while (at_ < script_.size() && (depth > 0 || script_[at_ - 1] == '$'));
  }
  // Skips the here-documents that the line just ended announced.
  void SkipHereDocuments() {
    for (const std::string& end : here_ends_) {
      bool found = false;
      while (!found && at_ < script_.size()) {
        const size_t stop = std::min(script_.find('\n', at_), script_.size());
        found = script_.substr(at_, stop - at_) == end;
        at_ = std::min(stop + 1, script_.size());
      }
    }
    here_ends_.clear();
  }

  void Step() {
    const char c = script_[at_];
    if (c == '\\') {
      if (Peek(1) != '\n' && Peek(1) != '\0') {
        Take(Peek(1));
      }
      at_ += 2;
    } else if (c == '\'' || c == '"') {
      Quoted(c);
    } else if (c == '$' && Peek(1) == '(') {
      Substitution();
    } else if (c == '#' && !in_word_) {
      at_ = std::min(script_.find('\n', at_), script_.size());
    } else if (c == '\n') {
      EndCommand();
      ++at_;
      SkipHereDocuments();
    } else if (c == ';' || c == '|' || c == '&' || c == '(' || c == ')') {
      EndCommand();
      ++at_;
    } else if (c == '<' || c == '>') {
      Redirection(c);
    } else if (absl::ascii_isspace(static_cast<unsigned char>(c))) {
      EndWord();
      ++at_;
    } else {
      Take(c);
      ++at_;
    }
  }
  void Redirection(char c) {
    const bool digits = word_.find_first_not_of("0123456789") == std::string::npos;
    if (in_word_ && digits) {  // 2> is no argument
      word_.clear();
      in_word_ = false;
    }
    EndWord();
    if (c == '<' && Peek(1) == '<') {
      at_ += Peek(2) == '-' ? 3 : 2;
      here_expected_ = true;
      return;
    }
    ++at_;
    at_ += Peek(0) == '>' || Peek(0) == '&' ? 1 : 0;
    redirected_ = true;
  }

  const absl::string_view script_;
  size_t at_ = 0;
  std::vector<std::vector<std::string>> commands_;
  std::vector<std::string> words_;
  std::string word_;
  bool in_word_ = false;
  bool redirected_ = false;
  bool here_expected_ = false;
  std::vector<std::string> here_ends_;
};

// Programs that start another one, with the letters of their options that take a value.
const std::map<std::string, std::string>& Starters() {
  static const auto& starters =
      *new std::map<std::string, std::string>{{"env", "uCS"}, {"nice", "n"},  {"nohup", ""},
                                              {"setsid", ""}, {"time", "fo"}, {"timeout", "ks"}};
  return starters;
}

// True if a word is only known when the job runs.
bool IsOpen(absl::string_view word) { return word.find_first_of("${}`*?") != word.npos; }

bool IsAssignment(absl::string_view word) {
  const size_t equals = word.find('=');
  if (equals == absl::string_view::npos || equals == 0) {
    return false;
  }
  for (const char c : word.substr(0, equals)) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_') {
      return false;
    }
  }
  return true;
}

std::string BaseName(const std::string& program) {
  return std::filesystem::path(program).filename().string();
}

bool IsShell(const std::string& program) {
  static const auto& shells = *new std::set<std::string>{"sh", "bash", "dash", "ksh", "zsh"};
  return shells.count(BaseName(program)) > 0;
}

// An option of an interpreter that takes no value and names no other program: -u, -eu, -OO.
bool IsPlainOption(absl::string_view word) {
  return word.size() > 1 && word[0] == '-' &&
         word.substr(1).find_first_not_of("uBOEIsSvqex") == word.npos;
}

// The position of the program that the starter at `first` starts: after options, variables and
// durations.
size_t StartedAt(const std::vector<std::string>& words, size_t first, absl::string_view letters) {
  size_t at = first + 1;
  while (at < words.size() &&
         (absl::StartsWith(words[at], "-") || IsAssignment(words[at]) ||
          (!words[at].empty() && absl::ascii_isdigit(static_cast<unsigned char>(words[at][0]))))) {
    const bool takes_value =
        words[at].size() == 2 && words[at][0] == '-' && absl::StrContains(letters, words[at][1]);
    at += takes_value ? 2 : 1;
  }
  return std::min(at, words.size());
}

// Adds what the words of one command need; `directory` is where a shell's "cd" went, or "".
void AddPrograms(const std::vector<std::string>& words, bool in_shell, std::string* directory,
                 std::set<std::string>* programs) {
  size_t first = 0;
  while (in_shell && first < words.size() &&
         (IsAssignment(words[first]) || Prefixes().count(words[first]) > 0)) {
    ++first;
  }
  const auto is_known = [&] {
    return first < words.size() && !words[first].empty() && !IsOpen(words[first]);
  };
  while (is_known()) {
    const std::string& word = words[first];
    const auto starter = Starters().find(word[0] == '/' ? BaseName(word) : word);
    if (starter == Starters().end()) {
      break;
    }
    programs->insert(word);
    first = StartedAt(words, first, starter->second);
  }
  if (!is_known()) {
    return;
  }
  const std::string& program = words[first];
  if (in_shell && Builtins().count(program) > 0) {
    if (program == "cd" && first + 1 < words.size()) {
      *directory = IsOpen(words[first + 1]) || words[first + 1][0] != '/' ? "" : words[first + 1];
      if (!directory->empty()) {
        programs->insert(*directory);
      }
    }
    return;
  }
  if (!absl::StrContains(program, '/') || program[0] == '/') {
    programs->insert(program);
  } else if (!in_shell) {
    programs->insert(program[0] == '.' ? program : absl::StrCat("./", program));
  }
  if (program == "cp" || program == "ln") {  // all but the last are what must be there
    for (size_t i = first + 1; i + 1 < words.size(); ++i) {
      if (words[i][0] == '/' && !IsOpen(words[i])) {
        programs->insert(words[i]);
      }
    }
  }
  if (!IsInterpreter(program)) {
    return;
  }
  size_t at = first + 1;
  while (at < words.size() && IsPlainOption(words[at])) {
    ++at;
  }
  if (at < words.size()) {
    const std::string& script = words[at];
    if (script.empty() || script[0] == '-' || IsOpen(script)) {
      return;
    }
    if (script[0] == '/') {
      programs->insert(script);
    } else if (!directory->empty()) {
      programs->insert(absl::StrCat(*directory, "/", script));
    } else if (!in_shell) {  // where a script of a shell may have put it
      programs->insert(script[0] == '.' ? script : absl::StrCat("./", script));
    }
  }
}

}  // namespace

bool IsInterpreter(const std::string& program) {
  const std::string name = BaseName(program);
  absl::string_view version = name;
  return (absl::ConsumePrefix(&version, "python") &&
          version.find_first_not_of("0123456789.") == version.npos) ||
         name == "perl" || name == "ruby" || IsShell(program);
}

std::vector<std::vector<std::string>> ShellCommands(absl::string_view script) {
  return Splitter(script).Split();
}

std::set<std::string> ProgramsOf(const std::vector<std::string>& command) {
  std::set<std::string> programs;
  std::string directory;
  AddPrograms(command, false, &directory, &programs);
  // sh -euc SCRIPT: the options before the script are letters of which the last is "c".
  if (command.size() >= 3 && IsShell(command[0]) && command[1].size() >= 2 &&
      command[1][0] == '-' && command[1].back() == 'c') {
    for (const std::vector<std::string>& words : ShellCommands(command[2])) {
      AddPrograms(words, true, &directory, &programs);
    }
  }
  return programs;
}

std::string FindProgram(const std::string& program, absl::string_view path) {
  std::error_code error;
  if (program[0] == '/') {
    return std::filesystem::exists(program, error) ? program : "";
  }
  if (absl::StrContains(program, '/')) {
    return "";
  }
  for (const absl::string_view directory : absl::StrSplit(path, ':')) {
    std::string candidate = absl::StrCat(directory.empty() ? "." : directory, "/", program);
    if (access(candidate.c_str(), X_OK) == 0 &&
        std::filesystem::is_regular_file(candidate, error)) {
      return candidate;
    }
  }
  return "";
}

}  // namespace concur::cli
