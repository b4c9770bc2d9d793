// SPDX-License-Identifier: Apache-2.0
// Arguments and environments in the form that exec takes.
#ifndef CONCUR_BASE_ARGV_H_
#define CONCUR_BASE_ARGV_H_

#include <string>
#include <vector>

namespace concur {

// Pointers to the strings of `texts` and a null pointer at the end. Valid until `texts` changes.
// The pointers are not const because exec's signature asks for it; exec does not write to the
// strings.
inline std::vector<char*> ArgvOf(const std::vector<std::string>& texts) {
  std::vector<char*> argv;
  argv.reserve(texts.size() + 1);
  for (const std::string& text : texts) {
    argv.push_back(const_cast<char*>(text.c_str()));
  }
  argv.push_back(nullptr);
  return argv;
}

}  // namespace concur

#endif  // CONCUR_BASE_ARGV_H_
