// SPDX-License-Identifier: Apache-2.0
// Passages as one JSON document {"version", "data": […]}: SQuAD v1.1, or one record a question as
// Hugging Face's run_qa.py reads them.
//
// Thread-compatible. The text is handed out piece by piece, so that a caller may write it as it
// comes.
#ifndef CONCUR_QA_JSON_EXPORT_H_
#define CONCUR_QA_JSON_EXPORT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "qa/example.h"

namespace concur::qa {

class JsonExport {
 public:
  struct Options {
    bool flat = false;            // one record a question, which repeats its passage
    bool drop_unlocated = false;  // else their answers are placed at 0
  };
  struct Counts {
    int64_t questions = 0;  // written
    int64_t unlocated = 0;  // those with no answer in the passage: written or dropped
  };

  explicit JsonExport(Options options) : options_(options) {}

  // Appends the text of a passage. Passages with the same title, one after the other, are one
  // article.
  void Add(const Passage& passage, std::string& out);
  // Appends what ends the document. Call it once, last.
  void Finish(std::string& out);
  const Counts& counts() const { return counts_; }

 private:
  void Begin(std::string& out);
  void BeginParagraph(const Passage& passage, std::string& out);

  const Options options_;
  std::string title_;
  bool begun_ = false;
  bool has_record_ = false;
  bool in_article_ = false;
  Counts counts_;
};

}  // namespace concur::qa

#endif  // CONCUR_QA_JSON_EXPORT_H_
