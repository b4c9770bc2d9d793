// SPDX-License-Identifier: Apache-2.0
// The internal form of a question-answering data set: MRQA's, with spans as byte offsets.
//
// Values.
#ifndef CONCUR_QA_EXAMPLE_H_
#define CONCUR_QA_EXAMPLE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace concur::qa {

// Half-open range of bytes of a passage's context; both ends on code-point boundaries.
struct Span {
  int64_t begin = 0;
  int64_t end = 0;

  friend bool operator==(const Span&, const Span&) = default;
};

inline absl::string_view TextOf(absl::string_view context, const Span& span) {
  return context.substr(static_cast<size_t>(span.begin),
                        static_cast<size_t>(span.end - span.begin));
}

// Adds a span unless it is in the list.
inline void AddSpan(const Span& span, std::vector<Span>& spans) {
  if (std::find(spans.begin(), spans.end(), span) == spans.end()) {
    spans.push_back(span);
  }
}

struct Question {
  std::string id;  // unique in a data set
  std::string text;
  std::vector<std::string> answers;  // gold answers; at least one in a valid data set
  // The occurrences of answers in the context that the source marks; empty if it marks none.
  std::vector<Span> spans;

  friend bool operator==(const Question&, const Question&) = default;
};

struct Passage {
  std::string title;    // the document's; "" when unknown
  std::string context;  // UTF-8
  std::vector<Question> questions;

  friend bool operator==(const Passage&, const Passage&) = default;
};

// The header line of a JSON-lines file: {"dataset": …, "generator": …, "seed": …}.
using Header = std::map<std::string, std::string>;

struct Dataset {
  Header header;
  std::vector<Passage> passages;

  int64_t QuestionCount() const {
    int64_t count = 0;
    for (const Passage& passage : passages) {
      count += static_cast<int64_t>(passage.questions.size());
    }
    return count;
  }
};

}  // namespace concur::qa

#endif  // CONCUR_QA_EXAMPLE_H_
