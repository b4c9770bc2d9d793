// SPDX-License-Identifier: Apache-2.0
#include "studies/approaches/commands.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "qa/dataset_io.h"
#include "qa/http/ask.h"
#include "studies/approaches/approach.h"
#include "studies/approaches/model_file.h"

namespace concur::approaches {

const std::vector<std::unique_ptr<Approach>>& AllApproaches() {
  static const auto& all = *[] {
    auto* list = new std::vector<std::unique_ptr<Approach>>;
    list->push_back(MakeRandomSpan());
    list->push_back(MakeSlidingWindow(false));
    list->push_back(MakeSlidingWindow(true));
    list->push_back(MakeLogisticRegression());
    list->push_back(MakeMaxMargin());
    list->push_back(MakeNeuralReader());
    return list;
  }();
  return all;
}

absl::StatusOr<const Approach*> FindApproach(absl::string_view name) {
  std::vector<std::string> names;
  for (const auto& approach : AllApproaches()) {
    if (approach->name() == name) {
      return approach.get();
    }
    names.push_back(approach->name());
  }
  return absl::NotFoundError(absl::StrCat("unknown approach \"", name, "\"",
                                          DidYouMean(name, names), "; `concur-qa list` shows all"));
}

absl::Status Train(const TrainOptions& options) {
  CONCUR_ASSIGN_OR_RETURN(const Approach* approach, FindApproach(options.approach));
  CONCUR_ASSIGN_OR_RETURN(const Parameters parameters,
                          Parameters::Parse(approach->parameters(), options.assignments));
  CONCUR_ASSIGN_OR_RETURN(const qa::Dataset data, qa::ReadDataset(options.train));
  auto model = approach->Train(data, parameters, options.seed);
  if (!model.ok()) {
    return absl::Status(model.status().code(),
                        absl::StrCat(options.train, ": ", model.status().message()));
  }
  ModelWriter writer;
  writer.Text(approach->name());
  writer.Number<uint32_t>(approach->version());
  (*model)->Save(writer);
  return WriteModelFile(options.model, writer);
}

namespace {

absl::StatusOr<std::unique_ptr<Model>> LoadModel(const std::string& path) {
  CONCUR_ASSIGN_OR_RETURN(ModelReader reader, ReadModelFile(path));
  const std::string name = reader.Text();
  const auto version = reader.Number<uint32_t>();
  CONCUR_ASSIGN_OR_RETURN(const Approach* approach, FindApproach(name));
  if (version != approach->version()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": written by version ", version, " of ",
                                                   name, ", this is ", approach->version(),
                                                   "; train it again"));
  }
  auto model = approach->Load(reader);
  absl::Status loaded = model.status();
  loaded.Update(reader.Finish());
  if (!loaded.ok()) {
    return absl::Status(loaded.code(), absl::StrCat(path, ": ", loaded.message()));
  }
  return model;
}

std::string AnswerOf(const Model& model, const PassageText& text, const qa::Question& question) {
  if (text.tokens.empty()) {
    return "";
  }
  const TokenSpan answer = model.Answer(text, question);
  return std::string(text.Text(answer.first, answer.last));
}

}  // namespace

absl::Status Serve(const std::string& model_path, qa::ServeLoop loop) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Model> model, LoadModel(model_path));
  return loop([&](const std::string& passage, const qa::Question& question) {
    return AnswerOf(*model, PassageText(passage), question);
  });
}

namespace {

using Answers = std::vector<std::pair<std::string, std::string>>;

absl::StatusOr<Answers> AnswersOf(const PredictOptions& options) {
  if (options.model.empty() == options.url.empty()) {
    return absl::InvalidArgumentError("expected one of --model and --url");
  }
  if (options.model.empty()) {
    return qa::AskQuestions(options.url, options.data);
  }
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Model> model, LoadModel(options.model));
  Answers answers;
  CONCUR_RETURN_IF_ERROR(qa::ForEachPassage(options.data, [&](const qa::Passage& passage) {
    const PassageText text(passage.context);
    for (const qa::Question& question : passage.questions) {
      answers.emplace_back(question.id, AnswerOf(*model, text, question));
    }
    return absl::OkStatus();
  }));
  return answers;
}

}  // namespace

absl::Status Predict(const PredictOptions& options) {
  CONCUR_ASSIGN_OR_RETURN(const Answers answers, AnswersOf(options));
  std::string out = "{";
  absl::string_view separator = "";
  for (const auto& [id, answer] : answers) {
    absl::StrAppend(&out, separator, "\n");
    separator = ",";
    AppendJsonString(id, out);
    out.append(": ");
    AppendJsonString(answer, out);
  }
  out.append("\n}\n");
  return WriteFileAtomically(options.predictions, out);
}

std::string ListApproaches() {
  std::string out;
  for (const auto& approach : AllApproaches()) {
    absl::StrAppend(&out, approach->name(), " (version ", approach->version(),
                    "): ", approach->summary(), "\n");
    for (const ParameterSpec& spec : approach->parameters()) {
      absl::StrAppend(&out, "    ", Describe(spec), "\n");
    }
  }
  return out;
}

int ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return 0;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kPermissionDenied:
      return 78;
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnavailable:
      return 75;
    default:
      return 1;
  }
}

}  // namespace concur::approaches
