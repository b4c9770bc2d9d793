// SPDX-License-Identifier: Apache-2.0
// The version and the commit that this program was built from. Thread-safe (constants).
#ifndef CONCUR_BASE_VERSION_H_
#define CONCUR_BASE_VERSION_H_

#include <string>

namespace concur {

// The release: "0.2.0".
extern const char kVersion[];
// The commit, abbreviated; empty when built outside a repository.
extern const char kCommit[];

// Output of `PROGRAM --version`: "concur 0.2.0 (e445787)".
inline std::string VersionText(const std::string& program) {
  const std::string commit = kCommit;
  return program + " " + kVersion + (commit.empty() ? "" : " (" + commit + ")");
}

}  // namespace concur

#endif  // CONCUR_BASE_VERSION_H_
