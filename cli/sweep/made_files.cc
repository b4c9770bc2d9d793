// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep/made_files.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "qa/builders/builder.h"
#include "qa/builders/derive.h"
#include "yaml/errors.h"

namespace concur::cli {
namespace {

absl::Status CheckStatedDigest(const spec::DataFileUse& use) {
  if (!use.digest) {
    return absl::OkStatus();
  }
  CONCUR_ASSIGN_OR_RETURN(const FileDigest found, DigestFile(use.path));
  return found.digest == *use.digest ? absl::OkStatus()
                                     : absl::InvalidArgumentError(absl::StrCat(
                                           "expected a file of SHA-256 ", use.digest->ToHex(),
                                           ", got \"", use.path, "\" of ", found.digest.ToHex()));
}

// Cuts one; the use of the train file becomes that of what is left.
absl::Status Cut(const spec::LoadedSweep::HeldOut& held_out, const std::string& directory,
                 spec::LoadedSweep* sweep) {
  const auto train = std::find_if(sweep->files.begin(), sweep->files.end(),
                                  [&](const spec::LoadedSweep::FileUse& file) {
                                    return file.is_train && file.benchmark == held_out.benchmark;
                                  });
  CONCUR_CHECK(train != sweep->files.end());
  CONCUR_RETURN_IF_ERROR(CheckStatedDigest(train->use));
  CONCUR_ASSIGN_OR_RETURN(
      const qa::SplitResult parts,
      qa::HoldOutValidation(train->use.path, held_out.share, held_out.seed, directory));
  train->use.path = parts.train.path;
  train->use.digest.reset();
  spec::LoadedSweep::FileUse validation{held_out.validation, false, train->use};
  validation.use.path = parts.test.path;
  validation.use.place = held_out.place;
  sweep->files.push_back(std::move(validation));
  return absl::OkStatus();
}

absl::Status BuildBenchmark(const spec::LoadedSweep::Built& built, const std::string& directory,
                            spec::LoadedSweep* sweep) {
  qa::BuildRequest request;
  request.builder = built.builder;
  request.directory = absl::StrCat(directory, "/built-", built.benchmark);
  request.seed = built.seed;
  request.parameters = built.parameters;
  CONCUR_ASSIGN_OR_RETURN(const qa::BuildResult result, qa::Build(request));
  for (const bool is_train : {true, false}) {
    spec::LoadedSweep::FileUse file{built.benchmark, is_train, {}};
    file.use.path = is_train ? result.train.path : result.test.path;
    file.use.place = built.place;
    sweep->files.push_back(std::move(file));
  }
  return absl::OkStatus();
}

absl::Status WriteParameters(uint32_t benchmark, const std::string& directory,
                             spec::LoadedSweep* sweep) {
  spec::LoadedSweep::FileUse file;
  file.benchmark = benchmark;
  file.use.path = absl::StrCat(directory, "/", benchmark, ".json");
  file.use.place = sweep->places[absl::StrCat("benchmarks[", benchmark, "]")];
  CONCUR_RETURN_IF_ERROR(WriteFileAtomically(
      file.use.path,
      absl::StrCat(nlohmann::json(sweep->spec.benchmarks[benchmark].parameters).dump(), "\n")));
  sweep->files.push_back(std::move(file));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MadeFiles> MakeFiles(spec::LoadedSweep* sweep) {
  if (sweep->held_out.empty() && sweep->made_of_parameters.empty() && sweep->built.empty()) {
    return MadeFiles();
  }
  CONCUR_ASSIGN_OR_RETURN(MadeFiles files, TemporaryDirectory::Make("made"));
  spec::ErrorList errors;
  for (const spec::LoadedSweep::Built& built : sweep->built) {
    const absl::Status status = BuildBenchmark(built, files.path(), sweep);
    if (!status.ok()) {
      errors.Add("", {}, "", absl::StrCat(built.place, status.message()));
    }
  }
  for (const spec::LoadedSweep::HeldOut& held_out : sweep->held_out) {
    const absl::Status status =
        Cut(held_out, absl::StrCat(files.path(), "/", held_out.validation), sweep);
    if (!status.ok()) {
      errors.Add("", {}, "", absl::StrCat(held_out.place, status.message()));
    }
  }
  if (!errors.empty()) {
    return errors.ToStatus();
  }
  for (const uint32_t benchmark : sweep->made_of_parameters) {
    CONCUR_RETURN_IF_ERROR(WriteParameters(benchmark, files.path(), sweep));
  }
  return files;
}

}  // namespace concur::cli
