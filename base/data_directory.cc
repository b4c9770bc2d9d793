// SPDX-License-Identifier: Apache-2.0
#include "base/data_directory.h"

#include <cstdlib>
#include <string>

namespace concur {

std::string DefaultDataDirectory() {
  const char* xdg = std::getenv("XDG_DATA_HOME");  // NOLINT(concurrency-mt-unsafe)
  if (xdg != nullptr && *xdg == '/') {
    return std::string(xdg) + "/concur";
  }
  const char* home = std::getenv("HOME");  // NOLINT(concurrency-mt-unsafe)
  return std::string(home == nullptr || *home == '\0' ? "." : home) + "/.local/share/concur";
}

}  // namespace concur
