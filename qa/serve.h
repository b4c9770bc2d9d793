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
#include "absl/strings/string_view.h"
#include "qa/example.h"

namespace concur::qa {

inline constexpr size_t kServeLineBytesMax = size_t{1} << 20;

using Answerer =
    absl::FunctionRef<absl::StatusOr<std::string>(std::string passage, const Question& question)>;

// Until `in` ends: a line {"id", "passage", "question"} in, a line {"id", "answer"} out.
// InvalidArgument with the line's number in `place` for any other line, and for one of more than
// kServeLineBytesMax; the first error of `answer`.
absl::Status ServeAnswers(std::istream& in, std::ostream& out, Answerer answer,
                          absl::string_view place = "standard input");

// Has an answerer answer what is asked, until that ends: ServeAnswers, or over HTTP.
using ServeLoop = absl::FunctionRef<absl::Status(Answerer answer)>;

}  // namespace concur::qa

#endif  // CONCUR_QA_SERVE_H_
