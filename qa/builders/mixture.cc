// SPDX-License-Identifier: Apache-2.0
#include "qa/builders/mixture.h"

#include <cstddef>
#include <cstdint>
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
#include "qa/dataset_io.h"
#include "qa/example.h"

namespace concur::qa {
namespace {

constexpr absl::string_view kMixtureVersion = "1";

struct DrawnPassage {
  size_t part = 0;
  Passage passage;
};

absl::Status CheckParts(const std::vector<MixturePart>& parts) {
  if (parts.empty()) {
    return absl::InvalidArgumentError("mixture: expected at least one part, got none");
  }
  absl::flat_hash_set<std::string> names;
  for (const MixturePart& part : parts) {
    if (!names.insert(part.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("mixture: the part name \"", part.name, "\" occurs twice"));
    }
    if (part.examples_max < 0) {
      return absl::InvalidArgumentError(absl::StrCat("mixture: part \"", part.name,
                                                     "\": expected a cap of 0 (none) or more, got ",
                                                     part.examples_max));
    }
  }
  return absl::OkStatus();
}

// Appends the drawn questions of one part. Two passes over the file, so that of a large part only
// what was drawn is held in memory.
absl::StatusOr<int64_t> DrawPart(const MixturePart& part, size_t index, uint64_t seed,
                                 int64_t memory_max, int64_t& held,
                                 std::vector<DrawnPassage>& drawn) {
  size_t total = 0;
  CONCUR_RETURN_IF_ERROR(ForEachPassage(part.path, [&](const Passage& passage) {
    total += passage.questions.size();
    return absl::OkStatus();
  }));
  if (total == 0) {
    return absl::InvalidArgumentError(absl::StrCat(part.path, ": no question"));
  }
  const bool capped = part.examples_max > 0 && static_cast<size_t>(part.examples_max) < total;
  const size_t count = capped ? static_cast<size_t>(part.examples_max) : total;
  Random random(seed, absl::StrCat("mixture/part/", part.name));
  const std::vector<bool> marks =
      capped ? SampleMarks(total, count, random) : std::vector<bool>(total, true);
  size_t next = 0;
  CONCUR_RETURN_IF_ERROR(ForEachPassage(part.path, [&](Passage passage) {
    std::vector<Question> kept;
    for (Question& question : passage.questions) {
      if (next < total && marks[next++]) {
        kept.push_back(std::move(question));
      }
    }
    if (kept.empty()) {
      return absl::OkStatus();
    }
    passage.questions = std::move(kept);
    absl::Status status = CountMemory(passage, part.path, memory_max, held);
    drawn.push_back(DrawnPassage{index, std::move(passage)});
    return status;
  }));
  return static_cast<int64_t>(count);
}

// Prefixes every id that more than one part has.
absl::Status MakeIdsUnique(const std::vector<MixturePart>& parts,
                           std::vector<DrawnPassage>& drawn) {
  constexpr size_t kSeveral = SIZE_MAX;
  absl::flat_hash_map<std::string, size_t> part_of_id;
  for (const DrawnPassage& item : drawn) {
    for (const Question& question : item.passage.questions) {
      const auto [it, inserted] = part_of_id.emplace(question.id, item.part);
      if (inserted) {
        continue;
      }
      if (it->second == item.part) {
        return absl::InvalidArgumentError(absl::StrCat(
            parts[item.part].path, ": the question id \"", question.id, "\" occurs twice"));
      }
      it->second = kSeveral;
    }
  }
  absl::flat_hash_set<std::string> ids;
  for (DrawnPassage& item : drawn) {
    for (Question& question : item.passage.questions) {
      if (part_of_id.at(question.id) == kSeveral) {
        question.id = absl::StrCat(parts[item.part].name, ":", question.id);
      }
      if (!ids.insert(question.id).second) {
        return absl::InvalidArgumentError(
            absl::StrCat("mixture: the question id \"", question.id,
                         "\" occurs twice even with part names before colliding ids"));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status BuildMixture(const std::vector<MixturePart>& parts, uint64_t seed,
                          const std::string& out_path, int64_t memory_max) {
  CONCUR_RETURN_IF_ERROR(CheckParts(parts));
  Header header{{"dataset", "mixture"},
                {"generator", "concur mixture"},
                {"generator_version", std::string(kMixtureVersion)},
                {"seed", absl::StrCat(seed)}};
  std::vector<DrawnPassage> drawn;
  int64_t held = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    CONCUR_ASSIGN_OR_RETURN(const int64_t count,
                            DrawPart(parts[i], i, seed, memory_max, held, drawn));
    CONCUR_ASSIGN_OR_RETURN(const FileDigest digest, DigestFile(parts[i].path));
    const std::string key = absl::StrCat("part.", i + 1, ".");
    header[key + "name"] = parts[i].name;
    header[key + "questions_max"] = absl::StrCat(parts[i].examples_max);
    header[key + "questions"] = absl::StrCat(count);
    header[key + "sha256"] = digest.digest.ToHex();
  }
  CONCUR_RETURN_IF_ERROR(MakeIdsUnique(parts, drawn));
  Random random(seed, "mixture/order");
  random.Shuffle(drawn);
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<DatasetWriter> writer,
                          DatasetWriter::Create(out_path, header));
  for (const DrawnPassage& item : drawn) {
    CONCUR_RETURN_IF_ERROR(writer->Write(item.passage));
  }
  return writer->Finish();
}

}  // namespace concur::qa
