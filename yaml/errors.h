// SPDX-License-Identifier: Apache-2.0
// Collects the errors of a file and of the files it refers to, and lists them by position.
//
// Thread-compatible.
#ifndef CONCUR_YAML_ERRORS_H_
#define CONCUR_YAML_ERRORS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace concur::spec {

// Line and column of a file, in bytes, from 1. Line 0: the file as a whole.
struct Position {
  int line = 0;
  int column = 0;
};

// "FILE:LINE:COL: FIELD: " without absent parts.
std::string PlaceText(absl::string_view file, Position at, absl::string_view field);

class ErrorList {
 public:
  // Adds `file` to the order of files, before it has an error.
  void NameFile(absl::string_view file) { IndexOf(file); }

  // Adds an error unless it is a repeat. Messages say what was expected, what was found and how to
  // fix it.
  void Add(absl::string_view file, Position at, absl::string_view field, absl::string_view message);

  // The file of this kind ("file", "sweep file") that was asked for cannot be read.
  void AddUnreadable(absl::string_view kind, const absl::Status& reason);

  bool empty() const { return count_ == 0; }
  size_t count() const { return count_; }

  // OK when empty; NotFound for a file that is not there alone; else InvalidArgument with one
  // "FILE:LINE:COL: FIELD: MESSAGE" per line, by file in the order in which files first had an
  // error, then by position. At most kShownMax are shown, followed by the number of the others.
  absl::Status ToStatus() const;

  static constexpr size_t kShownMax = 20;

 private:
  size_t IndexOf(absl::string_view file);

  struct Error {
    size_t file = 0;  // into files_
    Position at;
    std::string text;
  };
  std::vector<std::string> files_;
  std::vector<Error> errors_;  // at most kKeptMax
  bool is_missing_ = false;    // the file that was asked for
  size_t count_ = 0;
};

}  // namespace concur::spec

#endif  // CONCUR_YAML_ERRORS_H_
