// SPDX-License-Identifier: Apache-2.0
#include "qa/importers/importer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "qa/builders/staging.h"
#include "qa/dataset_io.h"
#include "qa/importers/text_spans.h"
#include "qa/normalize.h"

namespace concur::qa {
namespace {

constexpr int64_t kProgressStep = 1000;

void Count(std::map<std::string, ImportCount>& counts, absl::string_view what,
           absl::string_view place) {
  ImportCount& count = counts[std::string(what)];
  if (count.count++ == 0) {
    count.first_place = std::string(place);
  }
}

// True if an answer has only articles and punctuation. Such answers are short.
bool IsWordless(const std::string& answer) {
  return answer.size() < 12 && NormalizeAnswer(answer).empty();
}

// An output file, created at its first passage.
struct Output {
  std::string path;
  std::unique_ptr<DatasetWriter> writer;
  ImportedFile file;
};

class WritingSink : public ImportSink {
 public:
  // `outputs` holds one file, or train and test.
  WritingSink(const ImportRequest& request, const Header& header, std::vector<Output>& outputs)
      : request_(request), header_(header), outputs_(outputs) {}

  absl::Status Keep(Passage passage, absl::string_view place, Split split) override {
    CONCUR_CHECK(split == Split::kTrain || outputs_.size() == 2);
    std::vector<Question> kept;
    kept.reserve(passage.questions.size());
    for (Question& question : passage.questions) {
      if (const absl::string_view reason = ReasonToDrop(question); !reason.empty()) {
        CONCUR_RETURN_IF_ERROR(
            Drop(reason, absl::StrCat(place, " (id ", question.id.substr(0, 100), ")")));
        continue;
      }
      CountRead(1);
      ++counts_.kept;
      if (std::any_of(question.answers.begin(), question.answers.end(), IsWordless)) {
        Note("an answer of which SQuAD's normalization leaves nothing is kept",
             absl::StrCat(place, " (id ", question.id.substr(0, 100), ")"));
      }
      kept.push_back(std::move(question));
    }
    if (kept.empty()) {
      return absl::OkStatus();
    }
    passage.questions = std::move(kept);
    Output& output = outputs_[split == Split::kTrain ? 0 : 1];
    if (output.writer == nullptr) {
      Header header = header_;
      if (outputs_.size() > 1) {
        header["split"] = std::string(SplitName(split));
      }
      CONCUR_ASSIGN_OR_RETURN(output.writer, DatasetWriter::Create(output.path, header));
    }
    ++output.file.passages;
    output.file.questions += static_cast<int64_t>(passage.questions.size());
    return output.writer->Write(passage);
  }

  absl::Status Drop(absl::string_view reason, absl::string_view place) override {
    CountRead(1);
    Count(counts_.dropped, reason, place);
    return request_.strict ? absl::InvalidArgumentError(absl::StrCat(
                                 place, ": ", reason, "; --strict makes a drop an error"))
                           : absl::OkStatus();
  }
  void LeaveOut(int64_t questions) override {
    CountRead(questions);
    counts_.unsampled += questions;
  }
  void Note(absl::string_view what, absl::string_view place) override {
    Count(counts_.noted, what, place);
  }

  const ImportCounts& counts() const { return counts_; }

 private:
  void CountRead(int64_t questions) {
    counts_.read += questions;
    if (request_.progress && counts_.read / kProgressStep > reported_) {
      reported_ = counts_.read / kProgressStep;
      request_.progress(counts_.read);
    }
  }
  // "" when there is none.
  absl::string_view ReasonToDrop(const Question& question) {
    if (question.text.find_first_not_of(" \t\r\n") == std::string::npos) {
      return "the question is empty";
    }
    const auto is_empty = [](const std::string& answer) {
      return answer.find_first_not_of(" \t\r\n") == std::string::npos;
    };
    if (std::all_of(question.answers.begin(), question.answers.end(), is_empty)) {
      return "the answer is empty";
    }
    if (question.id.empty()) {
      return "the id is empty";
    }
    return ids_.insert(Sha256Of(question.id)).second ? "" : "the id came before";
  }

  const ImportRequest& request_;
  const Header& header_;
  std::vector<Output>& outputs_;
  ImportCounts counts_;
  int64_t reported_ = 0;
  absl::flat_hash_set<Digest> ids_;
};

// Adds base names and digests of the input files to the header; of a directory, the name only.
absl::Status RecordSources(const std::vector<std::string>& paths, Header& header) {
  for (size_t i = 0; i < paths.size(); ++i) {
    std::string name = std::filesystem::path(paths[i]).filename().string();
    std::error_code ignored;
    if (!std::filesystem::is_directory(paths[i], ignored)) {
      CONCUR_ASSIGN_OR_RETURN(const FileDigest digest, DigestFile(paths[i]));
      absl::StrAppend(&name, " sha256:", digest.digest.ToHex());
    }
    header[absl::StrCat("source.", i)] = std::move(name);
  }
  return absl::OkStatus();
}

absl::Status NothingKept(const ImportRequest& request, const ImportCounts& counts) {
  std::vector<std::string> reasons;
  for (const auto& [reason, count] : counts.dropped) {
    reasons.push_back(absl::StrCat(reason, " (", count.count, ")"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(absl::StrJoin(request.in, ", "), ": expected questions of the format ",
                   request.format, ", kept none of ", counts.read,
                   reasons.empty() ? "" : absl::StrCat(": ", absl::StrJoin(reasons, ", "))));
}

}  // namespace

ReadPolicy PassOnPolicy(ImportSink& sink) {
  ReadPolicy policy;
  policy.bad_records = ReadPolicy::BadRecords::kPassOn;
  policy.note = [&sink](absl::string_view what, absl::string_view place) {
    sink.Note(what, place);
  };
  return policy;
}

absl::Status KeepWithSpans(Passage passage, absl::string_view place, absl::string_view list,
                           absl::string_view no_span, ImportSink& sink) {
  std::vector<Question> usable;
  usable.reserve(passage.questions.size());
  for (size_t i = 0; i < passage.questions.size(); ++i) {
    Question& question = passage.questions[i];
    if (question.answers.empty() || question.spans.empty()) {
      CONCUR_RETURN_IF_ERROR(sink.Drop(question.answers.empty() ? "no answer is given" : no_span,
                                       absl::StrCat(place, list, "[", i, "]")));
    } else {
      usable.push_back(std::move(question));
    }
  }
  passage.questions = std::move(usable);
  return sink.Keep(std::move(passage), place);
}

const std::vector<ImporterInfo>& Importers() {
  static const auto* const importers = [] {
    auto* all = new std::vector<ImporterInfo>{BabiImporter(),  CbtImporter(),     CnnImporter(),
                                              DropImporter(),  LambadaImporter(), QamrImporter(),
                                              RecordImporter()};
    for (auto* const declare : {&SquadImporters, &MrqaImporters}) {
      for (ImporterInfo& info : declare()) {
        all->push_back(std::move(info));
      }
    }
    std::sort(all->begin(), all->end(),
              [](const ImporterInfo& a, const ImporterInfo& b) { return a.name < b.name; });
    return all;
  }();
  return *importers;
}

absl::StatusOr<const ImporterInfo*> FindImporter(absl::string_view name) {
  std::vector<std::string> names;
  for (const ImporterInfo& importer : Importers()) {
    if (importer.name == name) {
      return &importer;
    }
    names.push_back(importer.name);
  }
  return absl::NotFoundError(absl::StrCat("no importer \"", name, "\"", DidYouMean(name, names),
                                          "; there are ", absl::StrJoin(names, ", ")));
}

absl::StatusOr<ImportResult> Import(const ImportRequest& request) {
  CONCUR_ASSIGN_OR_RETURN(const ImporterInfo* const importer, FindImporter(request.format));
  CONCUR_ASSIGN_OR_RETURN(
      const Parameters parameters,
      Parameters::Create(importer->name, importer->parameters, request.parameters));
  if (request.in.empty()) {
    return absl::InvalidArgumentError("--in: expected at least one file");
  }
  Header header;
  header["dataset"] = importer->name;
  header["generator"] = absl::StrCat("concur data import ", importer->name);
  header["seed"] = absl::StrCat(request.seed);
  for (const auto& [name, value] : parameters.Recorded()) {
    header[absl::StrCat("parameter.", name)] = value;
  }
  CONCUR_RETURN_IF_ERROR(RecordSources(request.in, header));

  const bool splits = importer->splits != nullptr && importer->splits(parameters);
  std::optional<Staging> staging;
  std::vector<Output> outputs(splits ? 2 : 1);
  const std::vector<std::string> names = {"train.jsonl", "test.jsonl"};
  if (splits) {
    CONCUR_ASSIGN_OR_RETURN(Staging made, Staging::Create(request.out));
    staging.emplace(std::move(made));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].path = splits ? staging->PathOf(names[i]) : request.out;
    outputs[i].file.path = splits ? absl::StrCat(request.out, "/", names[i]) : request.out;
  }
  WritingSink sink(request, header, outputs);
  CONCUR_RETURN_IF_ERROR(importer->run({request.in, parameters, request.seed, header, sink}));

  ImportResult result;
  result.counts = sink.counts();
  int64_t dropped = 0;
  for (const auto& [reason, count] : result.counts.dropped) {
    dropped += count.count;
  }
  CONCUR_CHECK(result.counts.read == result.counts.kept + result.counts.unsampled + dropped);
  for (Output& output : outputs) {
    if (output.writer == nullptr) {
      return NothingKept(request, result.counts);
    }
    CONCUR_RETURN_IF_ERROR(output.writer->Finish());
    result.files.push_back(output.file);
  }
  if (splits) {
    CONCUR_RETURN_IF_ERROR(staging->Publish(names));
  }
  return result;
}

}  // namespace concur::qa
