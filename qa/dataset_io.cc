// SPDX-License-Identifier: Apache-2.0
#include "qa/dataset_io.h"

#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
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

absl::StatusOr<Dataset> ReadDataset(const std::string& path) {
  Dataset dataset;
  CONCUR_RETURN_IF_ERROR(ForEachPassage(
      path,
      [&](Passage passage) {
        dataset.passages.push_back(std::move(passage));
        return absl::OkStatus();
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
