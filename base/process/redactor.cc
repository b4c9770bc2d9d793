// SPDX-License-Identifier: Apache-2.0
#include "base/process/redactor.h"

#include <algorithm>
#include <string>
#include <utility>

namespace concur::process {

std::string Redactor::Add(absl::string_view data) {
  const size_t before = held_.size();
  held_.append(data.data(), data.size());
  masked_.resize(held_.size(), false);
  for (const std::string& secret : secrets_) {
    const size_t first = before < secret.size() ? 0 : before - secret.size() + 1;
    for (size_t at = held_.find(secret, first); at != std::string::npos;
         at = held_.find(secret, at + 1)) {
      std::fill_n(masked_.begin() + static_cast<std::ptrdiff_t>(at), secret.size(), true);
    }
  }
  return Take(held_.size() - BytesToHold());
}

std::string Redactor::Finish() { return Take(held_.size()); }

size_t Redactor::BytesToHold() const {
  const absl::string_view held = held_;
  size_t most = 0;
  for (const std::string& secret : secrets_) {
    const absl::string_view all = secret;
    for (size_t size = std::min(all.size() - 1, held.size()); size > most; --size) {
      if (held.substr(held.size() - size) == all.substr(0, size)) {
        most = size;
      }
    }
  }
  return most;
}

std::string Redactor::Take(size_t size) {
  std::string text = held_.substr(0, size);
  for (size_t i = 0; i < size; ++i) {
    if (masked_[i]) {
      text[i] = '*';
    }
  }
  held_.erase(0, size);
  masked_.erase(masked_.begin(), masked_.begin() + static_cast<std::ptrdiff_t>(size));
  return text;
}

}  // namespace concur::process
