// SPDX-License-Identifier: Apache-2.0
#include "qa/builders/builder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "qa/builders/staging.h"
#include "qa/dataset_io.h"

namespace concur::qa {
namespace {

// State that is kept across both splits.
struct Progress {
  int64_t done = 0;
  int64_t total = 0;
  absl::flat_hash_set<Digest> contexts;
  absl::flat_hash_set<std::string> ids;
  const std::function<void(int64_t, int64_t)>& report;
};

absl::Status Admit(const Passage& passage, Progress& progress) {
  CONCUR_RETURN_IF_ERROR(CheckPassage(passage));
  if (!progress.contexts.insert(Sha256Of(passage.context)).second) {
    return absl::InternalError("the generator made a passage twice");
  }
  for (const Question& question : passage.questions) {
    if (!progress.ids.insert(question.id).second) {
      return absl::InternalError(absl::StrCat("the generator made the id ", question.id, " twice"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<BuiltFile> WriteSplit(Split split, Generator& generator, Header header,
                                     const std::string& path, Progress& progress) {
  header["split"] = std::string(SplitName(split));
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<DatasetWriter> writer,
                          DatasetWriter::Create(path, header));
  BuiltFile file;
  const absl::Status generated =
      generator.Generate(split, [&](const Passage& passage) -> absl::Status {
        CONCUR_RETURN_IF_ERROR(Admit(passage, progress));
        CONCUR_RETURN_IF_ERROR(writer->Write(passage));
        ++file.passages;
        const auto questions = static_cast<int64_t>(passage.questions.size());
        file.questions += questions;
        progress.done += questions;
        if (progress.report) {
          progress.report(progress.done, progress.total);
        }
        return absl::OkStatus();
      });
  CONCUR_RETURN_IF_ERROR(generated);
  CONCUR_RETURN_IF_ERROR(writer->Finish());
  CONCUR_ASSIGN_OR_RETURN(const FileDigest digest, DigestFile(path));
  file.sha256 = digest.digest.ToHex();
  return file;
}

}  // namespace

absl::string_view SplitName(Split split) { return split == Split::kTrain ? "train" : "test"; }

const std::vector<BuilderInfo>& Builders() {
  static const auto* const builders = new std::vector<BuilderInfo>{
      ClozeBuilder(), FuzzyBuilder(), LastWordBuilder(), WikidataBuilder(), WordNetBuilder()};
  return *builders;
}

absl::StatusOr<const BuilderInfo*> FindBuilder(absl::string_view name) {
  std::vector<std::string> names;
  for (const BuilderInfo& builder : Builders()) {
    if (builder.name == name) {
      return &builder;
    }
    names.push_back(builder.name);
  }
  return absl::NotFoundError(absl::StrCat("no builder \"", name, "\"", DidYouMean(name, names),
                                          "; there are ", absl::StrJoin(names, ", ")));
}

absl::Status CheckPassage(const Passage& passage) {
  for (const Question& question : passage.questions) {
    if (question.answers.empty()) {
      return absl::InternalError(absl::StrCat("question ", question.id, ": no answer"));
    }
    if (question.spans.empty()) {
      return absl::InternalError(absl::StrCat("question ", question.id, ": no span"));
    }
    for (const Span& span : question.spans) {
      if (span.begin < 0 || span.begin >= span.end ||
          span.end > static_cast<int64_t>(passage.context.size())) {
        return absl::InternalError(absl::StrCat("question ", question.id, ": span [", span.begin,
                                                ", ", span.end, ") is outside the context"));
      }
      const absl::string_view text = TextOf(passage.context, span);
      if (std::find(question.answers.begin(), question.answers.end(), text) ==
          question.answers.end()) {
        return absl::InternalError(absl::StrCat(
            "question ", question.id, ": the span holds none of the answers: \"", text, "\""));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<BuildResult> Build(const BuildRequest& request) {
  CONCUR_ASSIGN_OR_RETURN(const BuilderInfo* const builder, FindBuilder(request.builder));
  CONCUR_ASSIGN_OR_RETURN(
      const Parameters parameters,
      Parameters::Create(builder->name, builder->parameters, request.parameters));
  SourceLog sources(request.sources);
  Header header;
  const BuilderInput input{parameters, sources, request.seed, header};
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Generator> generator, builder->make(input));
  header["dataset"] = builder->name;
  header["generator"] = absl::StrCat("concur data build ", builder->name);
  header["generator_version"] = builder->version;
  header["seed"] = absl::StrCat(request.seed);
  for (const auto& [name, value] : parameters.Recorded()) {
    header[absl::StrCat("parameter.", name)] = value;
  }
  header.insert(sources.recorded().begin(), sources.recorded().end());

  CONCUR_ASSIGN_OR_RETURN(Staging staging, Staging::Create(request.directory));
  Progress progress{.contexts = {}, .ids = {}, .report = request.progress};
  progress.total = parameters.Count("train-questions") + parameters.Count("test-questions");
  const std::string extension = request.gzip ? ".jsonl.gz" : ".jsonl";
  const std::string train = "train" + extension;
  const std::string test = "test" + extension;
  BuildResult result;
  result.version = builder->version;
  CONCUR_ASSIGN_OR_RETURN(
      result.train, WriteSplit(Split::kTrain, *generator, header, staging.PathOf(train), progress));
  CONCUR_ASSIGN_OR_RETURN(
      result.test, WriteSplit(Split::kTest, *generator, header, staging.PathOf(test), progress));
  CONCUR_RETURN_IF_ERROR(staging.Publish({train, test}));
  result.train.path = absl::StrCat(request.directory, "/", train);
  result.test.path = absl::StrCat(request.directory, "/", test);
  return result;
}

}  // namespace concur::qa
