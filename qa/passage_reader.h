// SPDX-License-Identifier: Apache-2.0
// The reader of SQuAD v1.1 JSON and MRQA JSON lines, plain or gzipped. With kPassOn a question a
// row, as Hugging Face writes SQuAD, may stand for the passages of either. A policy says what
// happens to records that have the layout of their format but cannot be used as they are.
//
// Thread-safe (stateless). Every error is "PATH:LINE: FIELD: what was expected, what was found";
// SQuAD files, which often have one line, name the article, paragraph and question as well.
#ifndef CONCUR_QA_PASSAGE_READER_H_
#define CONCUR_QA_PASSAGE_READER_H_

#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "qa/example.h"
#include "qa/raw_stream.h"

namespace concur::qa {

// The note about an answer span of MRQA that holds no answer.
inline constexpr absl::string_view kSpanWithoutAnswer =
    "a span that holds none of the answers is left out";
// The note about one that ends outside the context, where contexts are cut.
inline constexpr absl::string_view kSpanOutsideCut =
    "a span that ends behind the tokens that are kept is left out";

struct ReadPolicy {
  enum class BadRecords {
    // InvalidArgument: a question without answers, an empty or repeated id, an answer span outside
    // the context, a header after the first line. Answer spans are optional; an `answer_start` at
    // which the context has another text gives no span.
    kRefuse,
    // For the caller to skip and count: a question may come without answers or spans, ids are not
    // checked, headers are ignored. `answer_start` and `detected_answers` are required; those that
    // do not hold the answer give no span and are noted.
    kPassOn,
  };

  BadRecords bad_records = BadRecords::kRefuse;
  // Counts a span that is left out. REQUIRES: set for kPassOn.
  std::function<void(absl::string_view what, absl::string_view place)> note;
  size_t line_bytes_max = LineReader::kLineBytesMax;  // limit of MRQA JSON lines
  // MRQA: contexts end after so many of their `context_tokens`, which are then required; 0: they
  // are kept whole. REQUIRES: 0 for kRefuse.
  size_t context_tokens_max = 0;
};

// Gets a passage with all its questions, and its place: "FILE:LINE: data[0].paragraphs[2]" in
// SQuAD, "FILE:LINE" in MRQA. Its first error ends the reading.
using OnPassage = std::function<absl::Status(Passage passage, const std::string& place)>;

// Both hold one article or one line at a time, and with kRefuse the ids.
absl::Status ReadSquad(const std::string& path, const ReadPolicy& policy,
                       const OnPassage& on_passage);
absl::Status ReadMrqa(const std::string& path, const ReadPolicy& policy,
                      const OnPassage& on_passage,
                      const std::function<absl::Status(Header)>& on_header = {});

}  // namespace concur::qa

#endif  // CONCUR_QA_PASSAGE_READER_H_
