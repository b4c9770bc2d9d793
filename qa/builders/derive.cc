// SPDX-License-Identifier: Apache-2.0
#include "qa/builders/derive.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "qa/builders/sampling.h"
#include "qa/builders/staging.h"
#include "qa/dataset_io.h"
#include "qa/example.h"
#include "qa/normalize.h"
#include "qa/passage_groups.h"

namespace concur::qa {
namespace {

absl::StatusOr<Header> HeaderFor(const std::string& generator, const std::string& in,
                                 uint64_t seed) {
  CONCUR_ASSIGN_OR_RETURN(const FileDigest digest, DigestFile(in));
  return Header{{"generator", generator},
                {"generator_version", "1"},
                {"seed", absl::StrCat(seed)},
                {"source.name", in.substr(in.find_last_of('/') + 1)},
                {"source.sha256", digest.digest.ToHex()}};
}

absl::Status WriteTo(DatasetWriter& writer, const Passage& passage, DerivedFile& file) {
  ++file.passages;
  file.questions += static_cast<int64_t>(passage.questions.size());
  return writer.Write(passage);
}

// A group of passages and its split.
struct Group {
  int64_t questions = 0;
  bool test = false;
};

struct Groups {
  std::vector<Group> groups;
  std::vector<uint32_t> group_of_passage;
  int64_t questions = 0;
};

absl::StatusOr<Groups> FindGroups(const std::string& in, SplitBy by) {
  Groups result;
  PassageGroups contexts;
  absl::flat_hash_map<std::string, uint32_t> titles;
  std::vector<int64_t> questions;  // counts, one for each passage
  CONCUR_RETURN_IF_ERROR(ForEachPassage(in, [&](const Passage& passage) {
    questions.push_back(static_cast<int64_t>(passage.questions.size()));
    if (by == SplitBy::kContext) {
      contexts.Add(passage.context);
      return absl::OkStatus();
    }
    if (passage.title.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(in, ": passage ", questions.size(),
                       " has no title, which splitting by title needs; split by context instead"));
    }
    const auto number = static_cast<uint32_t>(titles.size());
    result.group_of_passage.push_back(titles.try_emplace(passage.title, number).first->second);
    return absl::OkStatus();
  }));
  if (by == SplitBy::kContext) {
    result.group_of_passage = contexts.Numbers();
  }
  for (size_t i = 0; i < questions.size(); ++i) {
    const uint32_t group = result.group_of_passage[i];
    result.groups.resize(std::max<size_t>(result.groups.size(), group + 1));
    result.groups[group].questions += questions[i];
    result.questions += questions[i];
  }
  return result;
}

// Marks random groups as test until they hold `share` of the questions.
void DealGroups(double share, uint64_t seed, Groups& groups) {
  Random random(seed, "split");
  const double target = share * static_cast<double>(groups.questions);
  int64_t taken = 0;
  for (const uint32_t index : SampleInOrder(groups.groups.size(), groups.groups.size(), random)) {
    if (static_cast<double>(taken) >= target) {
      return;
    }
    groups.groups[index].test = true;
    taken += groups.groups[index].questions;
  }
}

// Two documents may have the same context; a split by title must keep them together.
absl::Status CheckContextsApart(const std::string& in, const Groups& groups) {
  absl::flat_hash_map<Digest, bool> side;
  size_t index = 0;
  return ForEachPassage(in, [&](const Passage& passage) {
    const bool test = groups.groups[groups.group_of_passage[index++]].test;
    const auto [it, inserted] = side.emplace(Sha256Of(passage.context), test);
    if (!inserted && it->second != test) {
      return absl::InvalidArgumentError(
          absl::StrCat(in, ": passage ", index, " (title \"", passage.title,
                       "\") repeats the context of another document, which would be in both "
                       "train and test; split by context instead"));
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<absl::flat_hash_set<Digest>> ContextsOf(const std::vector<std::string>& paths) {
  absl::flat_hash_set<Digest> contexts;
  for (const std::string& path : paths) {
    CONCUR_RETURN_IF_ERROR(ForEachPassage(path, [&](const Passage& passage) {
      contexts.insert(Sha256Of(passage.context));
      return absl::OkStatus();
    }));
  }
  return contexts;
}

// The position of the answer that most answers equal after normalization; see derive.h.
size_t MajorityOf(const std::vector<std::string>& answers) {
  std::map<std::string, size_t> counts;
  for (const std::string& answer : answers) {
    ++counts[NormalizeAnswer(answer)];
  }
  size_t best = 0;
  for (size_t i = 1; i < answers.size(); ++i) {
    if (counts[NormalizeAnswer(answers[i])] > counts[NormalizeAnswer(answers[best])]) {
      best = i;
    }
  }
  return best;
}

struct SplitRule {
  SplitBy by = SplitBy::kContext;
  double test_share = 0;
  uint64_t seed = 0;
};

// Writes train.jsonl and OTHER.jsonl, with `header` and their names in both.
absl::StatusOr<SplitResult> SplitInto(const std::string& in, const SplitRule& rule, Header header,
                                      const std::string& other, const std::string& directory) {
  if (!(rule.test_share > 0 && rule.test_share < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("split: expected a ", other, " share between 0 and 1, got ", rule.test_share));
  }
  CONCUR_ASSIGN_OR_RETURN(Groups groups, FindGroups(in, rule.by));
  DealGroups(rule.test_share, rule.seed, groups);
  if (rule.by == SplitBy::kTitle) {
    CONCUR_RETURN_IF_ERROR(CheckContextsApart(in, groups));
  }
  const std::string other_file = other + ".jsonl";
  CONCUR_ASSIGN_OR_RETURN(Staging staging, Staging::Create(directory));
  header["split"] = "train";
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<DatasetWriter> train,
                          DatasetWriter::Create(staging.PathOf("train.jsonl"), header));
  header["split"] = other;
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<DatasetWriter> test,
                          DatasetWriter::Create(staging.PathOf(other_file), header));
  SplitResult result;
  size_t next = 0;
  CONCUR_RETURN_IF_ERROR(ForEachPassage(in, [&](const Passage& passage) {
    const bool to_test = groups.groups[groups.group_of_passage[next++]].test;
    return to_test ? WriteTo(*test, passage, result.test) : WriteTo(*train, passage, result.train);
  }));
  if (result.train.questions == 0 || result.test.questions == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        in, ": ", groups.groups.size(), rule.by == SplitBy::kTitle ? " titles" : " contexts",
        " with ", groups.questions, " questions do not split into two; expected more"));
  }
  CONCUR_RETURN_IF_ERROR(train->Finish());
  CONCUR_RETURN_IF_ERROR(test->Finish());
  CONCUR_RETURN_IF_ERROR(staging.Publish({"train.jsonl", other_file}));
  result.train.path = directory + "/train.jsonl";
  result.test.path = absl::StrCat(directory, "/", other_file);
  return result;
}

}  // namespace

absl::StatusOr<DerivedFile> Downsample(const std::string& in, int64_t questions, uint64_t seed,
                                       const std::string& out,
                                       const std::vector<std::string>& passages_of) {
  CONCUR_ASSIGN_OR_RETURN(const absl::flat_hash_set<Digest> contexts, ContextsOf(passages_of));
  const auto counts = [&](const Passage& passage) {
    return passages_of.empty() || contexts.contains(Sha256Of(passage.context));
  };
  size_t total = 0;
  CONCUR_RETURN_IF_ERROR(ForEachPassage(in, [&](const Passage& passage) {
    total += counts(passage) ? passage.questions.size() : 0;
    return absl::OkStatus();
  }));
  if (questions < 1 || static_cast<size_t>(questions) > total) {
    return absl::InvalidArgumentError(
        absl::StrCat(in, ": expected 1 to ", total, " questions to keep, got ", questions));
  }
  Random random(seed, "downsample");
  const std::vector<bool> marks = SampleMarks(total, static_cast<size_t>(questions), random);
  CONCUR_ASSIGN_OR_RETURN(Header header, HeaderFor("concur data downsample", in, seed));
  header["questions"] = absl::StrCat(questions);
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<DatasetWriter> writer,
                          DatasetWriter::Create(out, header));
  DerivedFile file;
  file.path = out;
  size_t next = 0;
  CONCUR_RETURN_IF_ERROR(ForEachPassage(in, [&](Passage passage) {
    if (!counts(passage)) {
      return absl::OkStatus();
    }
    std::vector<Question> kept;
    for (Question& question : passage.questions) {
      if (next < total && marks[next++]) {
        kept.push_back(std::move(question));
      }
    }
    passage.questions = std::move(kept);
    return passage.questions.empty() ? absl::OkStatus() : WriteTo(*writer, passage, file);
  }));
  CONCUR_RETURN_IF_ERROR(writer->Finish());
  return file;
}

absl::StatusOr<DerivedFile> KeepMajorityAnswers(const std::string& in, const std::string& out) {
  CONCUR_ASSIGN_OR_RETURN(Header header, HeaderFor("concur data majority", in, 0));
  header.erase("seed");
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<DatasetWriter> writer,
                          DatasetWriter::Create(out, header));
  DerivedFile file;
  file.path = out;
  CONCUR_RETURN_IF_ERROR(ForEachPassage(in, [&](Passage passage) {
    for (Question& question : passage.questions) {
      if (question.answers.empty()) {
        continue;
      }
      const std::string answer = question.answers[MajorityOf(question.answers)];
      std::erase_if(question.spans,
                    [&](const Span& span) { return TextOf(passage.context, span) != answer; });
      question.answers = {answer};
    }
    return WriteTo(*writer, passage, file);
  }));
  CONCUR_RETURN_IF_ERROR(writer->Finish());
  return file;
}

absl::StatusOr<SplitResult> SplitDataset(const std::string& in, SplitBy by, double test_share,
                                         uint64_t seed, const std::string& directory) {
  CONCUR_ASSIGN_OR_RETURN(Header header, HeaderFor("concur data split", in, seed));
  header["by"] = by == SplitBy::kTitle ? "title" : "context";
  header["test_share"] = absl::StrCat(test_share);
  return SplitInto(in, {by, test_share, seed}, std::move(header), "test", directory);
}

absl::StatusOr<SplitResult> HoldOutValidation(const std::string& in, double share, uint64_t seed,
                                              const std::string& directory) {
  CONCUR_ASSIGN_OR_RETURN(Header header, HeaderFor("concur held out", in, seed));
  header.erase("source.name");
  header["validation_share"] = absl::StrCat(share);
  return SplitInto(in, {SplitBy::kContext, share, seed}, std::move(header), "validation",
                   directory);
}

}  // namespace concur::qa
