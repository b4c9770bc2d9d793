#include "cli/export_command.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "cli/command_line.h"
#include "cli/records.h"
#include "qa/dataset_io.h"
#include "qa/example.h"
#include "qa/json_text.h"
#include "qa/utf8.h"

namespace concur::cli {
namespace {

struct ExportOptions {
  std::string format;
  std::string in;
  std::string out;
  bool drop_unlocated = false;
};

struct ExportCounts {
  int64_t questions = 0;  // written
  int64_t unlocated = 0;  // of which no answer stands in the passage: written or dropped
};

// An answer and where it begins in the passage, in code points.
struct LocatedAnswer {
  std::string text;
  int64_t start = 0;
};

// The answers of a question: its spans in their order, then answers without a span where they first
// occur. Empty when no answer stands in the passage.
std::vector<LocatedAnswer> Locate(const qa::Question& question, absl::string_view context) {
  std::vector<LocatedAnswer> located;
  const auto add = [&](absl::string_view text, size_t begin) {
    const int64_t start = qa::CountCodePoints(context.substr(0, begin));
    const bool repeated = std::any_of(
        located.begin(), located.end(),
        [&](const LocatedAnswer& answer) { return answer.start == start && answer.text == text; });
    if (!repeated) {
      located.push_back({std::string(text), start});
    }
  };
  for (const qa::Span& span : question.spans) {
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

// Writes passages in one of the forms. Both are one JSON document {"version", "data": […]}.
class Exporter {
 public:
  Exporter(bool flat, bool drop_unlocated) : flat_(flat), drop_unlocated_(drop_unlocated) {
    out_ = "{\"version\": \"1.1\", \"data\": [";
  }

  void Add(const qa::Passage& passage) {
    std::string questions;
    for (const qa::Question& question : passage.questions) {
      std::vector<LocatedAnswer> answers = Locate(question, passage.context);
      if (answers.empty()) {
        ++counts_.unlocated;
        if (drop_unlocated_) {
          continue;
        }
        for (const std::string& answer : question.answers) {
          answers.push_back({answer, 0});
        }
      }
      ++counts_.questions;
      if (flat_) {
        AddFlat(passage, question, answers);
      } else {
        AddNested(question, answers, questions);
      }
    }
    if (!flat_ && !questions.empty()) {
      BeginParagraph(passage);
      absl::StrAppend(&out_, questions, "]}");
    }
  }

  std::string Finish() && {
    if (in_article_) {
      out_.append("\n]}");
    }
    out_.append("\n]}\n");
    return std::move(out_);
  }
  const ExportCounts& counts() const { return counts_; }

 private:
  static void Field(absl::string_view name, absl::string_view value, std::string& out) {
    absl::StrAppend(&out, "\"", name, "\": ");
    qa::AppendJsonString(value, out);
  }

  // One record a question, which repeats its passage.
  void AddFlat(const qa::Passage& passage, const qa::Question& question,
               const std::vector<LocatedAnswer>& answers) {
    out_.append(first_ ? "\n{" : ",\n{");
    first_ = false;
    Field("id", question.id, out_);
    out_.append(", ");
    Field("title", passage.title, out_);
    out_.append(", ");
    Field("context", passage.context, out_);
    out_.append(", ");
    Field("question", question.text, out_);
    out_.append(", \"answers\": {\"text\": [");
    for (size_t i = 0; i < answers.size(); ++i) {
      out_.append(i == 0 ? "" : ", ");
      qa::AppendJsonString(answers[i].text, out_);
    }
    out_.append("], \"answer_start\": [");
    for (size_t i = 0; i < answers.size(); ++i) {
      absl::StrAppend(&out_, i == 0 ? "" : ", ", answers[i].start);
    }
    out_.append("]}}");
  }

  static void AddNested(const qa::Question& question, const std::vector<LocatedAnswer>& answers,
                        std::string& out) {
    out.append(out.empty() ? "\n  {" : ",\n  {");
    Field("id", question.id, out);
    out.append(", ");
    Field("question", question.text, out);
    out.append(", \"answers\": [");
    for (size_t i = 0; i < answers.size(); ++i) {
      out.append(i == 0 ? "{" : ", {");
      Field("text", answers[i].text, out);
      absl::StrAppend(&out, ", \"answer_start\": ", answers[i].start, "}");
    }
    out.append("]}");
  }

  // Passages with the same title, one after the other, are one article.
  void BeginParagraph(const qa::Passage& passage) {
    if (!in_article_ || passage.title != title_) {
      out_.append(in_article_ ? "\n]},\n{" : "\n{");
      Field("title", passage.title, out_);
      out_.append(", \"paragraphs\": [\n {");
      title_ = passage.title;
      in_article_ = true;
    } else {
      out_.append(",\n {");
    }
    Field("context", passage.context, out_);
    out_.append(", \"qas\": [");
  }

  const bool flat_;
  const bool drop_unlocated_;
  std::string out_;
  std::string title_;
  bool first_ = true;
  bool in_article_ = false;
  ExportCounts counts_;
};

absl::Status RunExport(const ExportOptions& options, CommandContext& context) {
  if (options.format != "squad" && options.format != "transformers") {
    return absl::InvalidArgumentError(absl::StrCat(
        "data export: expected the format squad or transformers, got \"", options.format, "\""));
  }
  Exporter exporter(options.format == "transformers", options.drop_unlocated);
  CONCUR_RETURN_IF_ERROR(qa::ForEachPassage(options.in, [&](const qa::Passage& passage) {
    exporter.Add(passage);
    return absl::OkStatus();
  }));
  const ExportCounts counts = exporter.counts();
  if (counts.questions == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.in, ": expected a question whose answer stands in its passage, found none"));
  }
  CONCUR_RETURN_IF_ERROR(WriteFileAtomically(options.out, std::move(exporter).Finish()));
  Print({{{"path"}, {"questions", true}, {"unlocated", true}},
         {{options.out, absl::StrCat(counts.questions), absl::StrCat(counts.unlocated)}}},
        context);
  return absl::OkStatus();
}

}  // namespace

void AddExportCommand(Command& data, CommandContext& context) {
  Command* const command = data.AddSubcommand(
      "export", "a data set in the form that other programs read, from SQuAD JSON or MRQA lines");
  const auto options = std::make_shared<ExportOptions>();
  command
      ->AddOption("format", options->format,
                  "squad: SQuAD v1.1 JSON; transformers: one record a question, as Hugging Face's "
                  "run_qa.py reads it")
      ->Required();
  command->AddOption("--in", options->in, "the data set")->Required()->TypeName("FILE");
  command->AddOption("--out", options->out, "file to write")->Required()->TypeName("FILE");
  command->AddFlag("--drop-unlocated", options->drop_unlocated,
                   "leave out questions of which no answer stands in the passage, which nothing "
                   "can be learned from; without it their answers are placed at 0");
  OnRun(command, context, [options, &context] { return RunExport(*options, context); });
}

}  // namespace concur::cli
