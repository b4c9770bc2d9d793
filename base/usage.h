// What a program says of a command line that it cannot take.
#ifndef CONCUR_BASE_USAGE_H_
#define CONCUR_BASE_USAGE_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace concur {

// `problem` as the parser of the command line has it.
inline std::string UsageError(absl::string_view program, absl::string_view problem) {
  return absl::StrCat(program, ": ", problem, "; see ", program, " --help\n");
}

}  // namespace concur

#endif  // CONCUR_BASE_USAGE_H_
