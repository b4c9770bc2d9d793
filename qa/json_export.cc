// SPDX-License-Identifier: Apache-2.0
#include "qa/json_export.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/escape.h"
#include "qa/utf8.h"

namespace concur::qa {
namespace {

// An answer and where it begins in the passage, in code points.
struct LocatedAnswer {
  std::string text;
  int64_t start = 0;
};

// The answers of a question: its spans in their order, then answers without a span where they first
// occur. Empty when no answer stands in the passage.
std::vector<LocatedAnswer> Locate(const Question& question, absl::string_view context) {
  std::vector<LocatedAnswer> located;
  const auto add = [&](absl::string_view text, size_t begin) {
    const int64_t start = CountCodePoints(context.substr(0, begin));
    const bool repeated = std::any_of(
        located.begin(), located.end(),
        [&](const LocatedAnswer& answer) { return answer.start == start && answer.text == text; });
    if (!repeated) {
      located.push_back({std::string(text), start});
    }
  };
  for (const Span& span : question.spans) {
    const auto begin = static_cast<size_t>(span.begin);
    add(context.substr(begin, static_cast<size_t>(span.end) - begin), begin);
  }
  for (const std::string& answer : question.answers) {
    const bool has_span =
        std::any_of(located.begin(), located.end(),
                    [&](const LocatedAnswer& other) { return other.text == answer; });
    const size_t begin =
        has_span || answer.empty() ? absl::string_view::npos : context.find(answer);
    if (begin != absl::string_view::npos) {
      add(answer, begin);
    }
  }
  return located;
}

void AppendField(absl::string_view name, absl::string_view value, std::string& out) {
  absl::StrAppend(&out, "\"", name, "\": ");
  AppendJsonString(value, out);
}

void AppendRecord(const Passage& passage, const Question& question,
                  const std::vector<LocatedAnswer>& answers, std::string& out) {
  AppendField("id", question.id, out);
  out.append(", ");
  AppendField("title", passage.title, out);
  out.append(", ");
  AppendField("context", passage.context, out);
  out.append(", ");
  AppendField("question", question.text, out);
  out.append(", \"answers\": {\"text\": [");
  for (size_t i = 0; i < answers.size(); ++i) {
    out.append(i == 0 ? "" : ", ");
    AppendJsonString(answers[i].text, out);
  }
  out.append("], \"answer_start\": [");
  for (size_t i = 0; i < answers.size(); ++i) {
    absl::StrAppend(&out, i == 0 ? "" : ", ", answers[i].start);
  }
  out.append("]}}");
}

void AppendNested(const Question& question, const std::vector<LocatedAnswer>& answers,
                  std::string& out) {
  out.append(out.empty() ? "\n  {" : ",\n  {");
  AppendField("id", question.id, out);
  out.append(", ");
  AppendField("question", question.text, out);
  out.append(", \"answers\": [");
  for (size_t i = 0; i < answers.size(); ++i) {
    out.append(i == 0 ? "{" : ", {");
    AppendField("text", answers[i].text, out);
    absl::StrAppend(&out, ", \"answer_start\": ", answers[i].start, "}");
  }
  out.append("]}");
}

}  // namespace

void JsonExport::Add(const Passage& passage, std::string& out) {
  Begin(out);
  std::string nested;
  for (const Question& question : passage.questions) {
    std::vector<LocatedAnswer> answers = Locate(question, passage.context);
    if (answers.empty()) {
      ++counts_.unlocated;
      if (options_.drop_unlocated) {
        continue;
      }
      for (const std::string& answer : question.answers) {
        answers.push_back({answer, 0});
      }
    }
    ++counts_.questions;
    if (options_.flat) {
      out.append(has_record_ ? ",\n{" : "\n{");
      has_record_ = true;
      AppendRecord(passage, question, answers, out);
    } else {
      AppendNested(question, answers, nested);
    }
  }
  if (!nested.empty()) {
    BeginParagraph(passage, out);
    absl::StrAppend(&out, nested, "]}");
  }
}

void JsonExport::Finish(std::string& out) {
  Begin(out);
  if (in_article_) {
    out.append("\n]}");
  }
  out.append("\n]}\n");
}

void JsonExport::Begin(std::string& out) {
  if (!begun_) {
    out.append("{\"version\": \"1.1\", \"data\": [");
    begun_ = true;
  }
}

void JsonExport::BeginParagraph(const Passage& passage, std::string& out) {
  if (!in_article_ || passage.title != title_) {
    out.append(in_article_ ? "\n]},\n{" : "\n{");
    AppendField("title", passage.title, out);
    out.append(", \"paragraphs\": [\n {");
    title_ = passage.title;
    in_article_ = true;
  } else {
    out.append(",\n {");
  }
  AppendField("context", passage.context, out);
  out.append(", \"qas\": [");
}

}  // namespace concur::qa
