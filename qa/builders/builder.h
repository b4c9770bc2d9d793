// SPDX-License-Identifier: Apache-2.0
// Benchmark builders: each makes a train set and a test set from a seed and from sources that need
// no download. A builder is a declaration (name, version, parameters) and a function that makes a
// Generator. Everything else is done here for all builders: checks of parameters, headers and
// spans, no passage in both sets, files that appear only when complete.
//
// The same seed, parameters and sources give the same bytes on any machine.
//
// Thread-safe (stateless); a Generator is thread-compatible.
#ifndef CONCUR_QA_BUILDERS_BUILDER_H_
#define CONCUR_QA_BUILDERS_BUILDER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "qa/builders/parameters.h"
#include "qa/builders/sources.h"
#include "qa/example.h"

namespace concur::qa {

enum class Split { kTrain, kTest };
// "train" or "test".
absl::string_view SplitName(Split split);

using PassageSink = std::function<absl::Status(Passage)>;

// The mask of the answer in questions made from text.
inline constexpr absl::string_view kMask = "XXXXX";

class Generator {
 public:
  virtual ~Generator() = default;
  // Calls `sink` with the passages of `split` in order; stops at its first error. Called once with
  // kTrain, then once with kTest.
  virtual absl::Status Generate(Split split, const PassageSink& sink) = 0;
};

// The input of a builder.
struct BuilderInput {
  const Parameters& parameters;
  SourceLog& sources;
  uint64_t seed = 0;
  Header& header;  // a builder may add lines
};

struct BuilderInfo {
  std::string name;
  std::string version;  // changes whenever the same input would give other bytes
  std::string summary;  // one line
  std::vector<ParameterInfo> parameters;
  absl::StatusOr<std::unique_ptr<Generator>> (*make)(const BuilderInput& input) = nullptr;
};

// All builders, by name.
const std::vector<BuilderInfo>& Builders();
// NotFound, with the nearest name and the list of names.
absl::StatusOr<const BuilderInfo*> FindBuilder(absl::string_view name);

// The individual builders; every one has --train-questions and --test-questions.
BuilderInfo FuzzyBuilder();
BuilderInfo WikidataBuilder();
BuilderInfo WordNetBuilder();
BuilderInfo ClozeBuilder();
BuilderInfo LastWordBuilder();

struct BuildRequest {
  std::string builder;
  std::string directory;  // created if absent
  uint64_t seed = 1;
  bool gzip = false;
  std::map<std::string, std::string> parameters;
  SourcePaths sources;
  // Called while questions are written.
  std::function<void(int64_t done, int64_t total)> progress;
};

struct BuiltFile {
  std::string path;
  int64_t passages = 0;
  int64_t questions = 0;
  std::string sha256;
};

struct BuildResult {
  std::string version;
  BuiltFile train;
  BuiltFile test;
};

// Writes DIRECTORY/train.jsonl and test.jsonl (with ".gz" when asked for); earlier files of these
// names are replaced only once both are complete. On failure the directory is unchanged.
absl::StatusOr<BuildResult> Build(const BuildRequest& request);

// The first problem of a passage: an answer that its span does not hold, a question without
// answers, a span out of bounds. OK when there is none.
absl::Status CheckPassage(const Passage& passage);

}  // namespace concur::qa

#endif  // CONCUR_QA_BUILDERS_BUILDER_H_
