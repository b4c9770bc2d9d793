// SPDX-License-Identifier: Apache-2.0
#include "qa/dataset_io.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "qa/json_items.h"
#include "qa/passage_reader.h"

namespace concur::qa {
namespace {

absl::Status NoQuestion(const std::string& path) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": expected at least one question, found none"));
}

}  // namespace

absl::Status ForEachPassage(const std::string& path,
                            const std::function<absl::Status(Passage)>& on_passage,
                            const std::function<absl::Status(Header)>& on_header) {
  ReadPolicy policy;
  bool is_empty = true;
  const auto take_passage = [&](Passage passage, const std::string&) {
    is_empty = false;
    return on_passage(std::move(passage));
  };
  const auto take_header = [&](Header header) {
    is_empty = false;
    return on_header ? on_header(std::move(header)) : absl::OkStatus();
  };
  CONCUR_ASSIGN_OR_RETURN(const bool is_squad, FirstObjectHas(path, "data"));
  if (is_squad) {
    return ReadSquad(path, policy, take_passage);
  }
  CONCUR_RETURN_IF_ERROR(ReadMrqa(path, policy, take_passage, take_header));
  if (is_empty) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": the file is empty; expected SQuAD JSON or MRQA JSON lines"));
  }
  return absl::OkStatus();
}

absl::Status CountMemory(const Passage& passage, absl::string_view path, int64_t max,
                         int64_t& held) {
  size_t bytes = sizeof(passage) + passage.title.size() + passage.context.size();
  for (const Question& question : passage.questions) {
    bytes += sizeof(question) + question.id.size() + question.text.size() +
             question.spans.size() * sizeof(Span);
    for (const std::string& answer : question.answers) {
      bytes += sizeof(std::string) + answer.size();
    }
  }
  held += static_cast<int64_t>(bytes);
  if (held <= max) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": the data takes more than ", max >> 20,
                   " MiB of memory, which is the limit; divide it, or draw a sample of it"));
}

absl::StatusOr<Dataset> ReadDataset(const std::string& path, int64_t memory_max) {
  Dataset dataset;
  int64_t held = 0;
  CONCUR_RETURN_IF_ERROR(ForEachPassage(
      path,
      [&](Passage passage) {
        absl::Status status = CountMemory(passage, path, memory_max, held);
        dataset.passages.push_back(std::move(passage));
        return status;
      },
      [&](Header header) {
        dataset.header = std::move(header);
        return absl::OkStatus();
      }));
  if (dataset.QuestionCount() == 0) {
    return NoQuestion(path);
  }
  return dataset;
}

absl::Status CheckDataset(const std::string& path) {
  bool has_question = false;
  CONCUR_RETURN_IF_ERROR(ForEachPassage(path, [&](const Passage& passage) {
    has_question = has_question || !passage.questions.empty();
    return absl::OkStatus();
  }));
  return has_question ? absl::OkStatus() : NoQuestion(path);
}

}  // namespace concur::qa
