// SPDX-License-Identifier: Apache-2.0
// Asks a QuestionServer the questions of a data set.
//
// Thread-safe (stateless).
#ifndef CONCUR_QA_HTTP_ASK_H_
#define CONCUR_QA_HTTP_ASK_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace concur::qa {

// Ids and answers, in the order of the data set. `url`: "http://127.0.0.1:8000". Waits for as long
// as the server takes. Unavailable when nobody answers or the server is busy or ends;
// InvalidArgument for the data, and with the server's words for a question that it refuses;
// Internal with them for any other answer.
absl::StatusOr<std::vector<std::pair<std::string, std::string>>> AskQuestions(
    const std::string& url, const std::string& data);

}  // namespace concur::qa

#endif  // CONCUR_QA_HTTP_ASK_H_
