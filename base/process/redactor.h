// SPDX-License-Identifier: Apache-2.0
// Masks secrets in a stream of text, also where they come in pieces.
//
// Thread-compatible.
#ifndef CONCUR_BASE_PROCESS_REDACTOR_H_
#define CONCUR_BASE_PROCESS_REDACTOR_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace concur::process {

class Redactor {
 public:
  // REQUIRES: no secret is empty.
  explicit Redactor(std::vector<std::string> secrets) : secrets_(std::move(secrets)) {}

  // The text as it goes on, with a "*" for every byte of a secret. The end is held back for as long
  // as a secret may begin in it.
  std::string Add(absl::string_view data);
  // The end that was held back; no secret ends in it.
  std::string Finish();

 private:
  // Bytes at the end of held_ that begin a secret.
  size_t BytesToHold() const;
  std::string Take(size_t size);

  const std::vector<std::string> secrets_;
  std::string held_;
  std::vector<bool> masked_;  // by byte of held_
};

}  // namespace concur::process

#endif  // CONCUR_BASE_PROCESS_REDACTOR_H_
