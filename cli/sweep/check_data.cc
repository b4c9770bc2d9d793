// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep/check_data.h"

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "core/sweep/sweep.h"
#include "qa/dataset_io.h"
#include "qa/json_text.h"
#include "qa/raw_stream.h"
#include "yaml/errors.h"

namespace concur::cli {
namespace {

// Benchmarks whose train sets are read by the worker itself, to mix them.
std::set<uint32_t> MixedBenchmarks(const SweepSpec& sweep) {
  std::set<uint32_t> mixed;
  for (const TrainSet& train_set : sweep.train_sets) {
    if (!train_set.IsMixture()) {
      continue;
    }
    for (const TrainSet::Part& part : train_set.parts) {
      mixed.insert(part.benchmark);
    }
  }
  return mixed;
}

// Reads the file to its end, for damage that only unpacking shows.
absl::Status CheckBytes(const std::string& path) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<qa::RawStream> stream, qa::RawStream::Open(path));
  bool is_empty = true;
  while (true) {
    CONCUR_ASSIGN_OR_RETURN(const absl::string_view block, stream->Next());
    if (block.empty()) {
      return is_empty ? absl::InvalidArgumentError(absl::StrCat(path, ": an empty file"))
                      : absl::OkStatus();
    }
    is_empty = false;
  }
}

// The first line of a file that is no JSON at all, such as a CSV; "" when it may be JSON.
absl::StatusOr<std::string> OtherText(const std::string& path) {
  constexpr size_t kShownBytesMax = 40;
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<qa::RawStream> stream, qa::RawStream::Open(path));
  CONCUR_ASSIGN_OR_RETURN(absl::string_view block, stream->Next());
  if (absl::StartsWith(block, "\xFF\xFE") || absl::StartsWith(block, "\xFE\xFF")) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected UTF-8, got UTF-16; convert it: iconv -f UTF-16 -t UTF-8"));
  }
  absl::ConsumePrefix(&block, "\xEF\xBB\xBF");
  block = absl::StripLeadingAsciiWhitespace(block);
  if (block.empty() || block[0] == '{') {
    return "";
  }
  return std::string(block.substr(0, block.find_first_of("\r\n")).substr(0, kShownBytesMax));
}

absl::Status CheckQuestions(const std::string& path) {
  CONCUR_ASSIGN_OR_RETURN(const std::string other, OtherText(path));
  if (!other.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ":1: ", qa::Shown(other),
                                                   ", which is no JSON; for data of another form "
                                                   "write \"format: file\" and \"metric: NAME\""));
  }
  return qa::CheckDataset(path);
}

}  // namespace

absl::Status CheckDataSets(const spec::LoadedSweep& sweep) {
  const std::set<uint32_t> mixed = MixedBenchmarks(sweep.spec);
  spec::ErrorList errors;
  std::map<std::pair<std::string, bool>, absl::Status> checked;
  for (const spec::LoadedSweep::FileUse& file : sweep.files) {
    const std::string& path = file.use.path;
    std::error_code error;
    if (!IsQa(sweep.spec.benchmarks[file.benchmark].format) ||
        !std::filesystem::exists(path, error)) {
      continue;
    }
    const bool scored = !file.is_train || mixed.count(file.benchmark) > 0;
    const auto [found, is_new] = checked.try_emplace({path, scored});
    if (is_new) {
      found->second = scored ? CheckQuestions(path) : CheckBytes(path);
    }
    if (!found->second.ok()) {
      errors.Add("", {}, "",
                 absl::StrCat(file.use.place, "expected ",
                              scored ? "a data set of questions" : "data to train on", ", got ",
                              found->second.message()));
    }
  }
  return errors.empty() ? absl::OkStatus() : errors.ToStatus();
}

}  // namespace concur::cli
