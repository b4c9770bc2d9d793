// SPDX-License-Identifier: Apache-2.0
// Answers questions one at a time, as `serve` of an approach is to (docs/annotation.md).
//
// Thread-compatible.
#ifndef CONCUR_QA_SERVE_H_
#define CONCUR_QA_SERVE_H_

#include <cstddef>
#include <iosfwd>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "qa/example.h"

namespace concur::qa {

inline constexpr size_t kServeLineBytesMax = size_t{1} << 20;

// Until `in` ends: a line {"id", "passage", "question"} in, a line {"id", "answer"} out.
// InvalidArgument with the line's number for any other line, and for one of more than
// kServeLineBytesMax; the first error of `answer`.
absl::Status ServeAnswers(
    std::istream& in, std::ostream& out,
    absl::FunctionRef<absl::StatusOr<std::string>(std::string passage, const Question& question)>
        answer);

}  // namespace concur::qa

#endif  // CONCUR_QA_SERVE_H_
