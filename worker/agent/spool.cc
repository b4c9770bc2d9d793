// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/spool.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace concur::worker {
namespace {

constexpr absl::string_view kSuffix = ".results";

}  // namespace

FileSpool::FileSpool(std::string directory, FileSystem& files)
    : directory_(std::move(directory)), files_(files) {}

std::string FileSpool::PathOf(uint64_t file) const {
  return absl::StrCat(directory_, "/", absl::Dec(file, absl::kZeroPad12), kSuffix);
}

absl::StatusOr<std::unique_ptr<FileSpool>> FileSpool::Open(const std::string& directory,
                                                           FileSystem& files) {
  CONCUR_RETURN_IF_ERROR(files.MakeDirectories(directory, 0700));
  std::unique_ptr<FileSpool> spool(new FileSpool(directory, files));
  CONCUR_RETURN_IF_ERROR(spool->Load());
  return spool;
}

absl::Status FileSpool::Load() {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> names, files_.List(directory_));
  std::vector<uint64_t> files;
  for (const std::string& name : names) {
    absl::string_view number = name;
    uint64_t file = 0;
    if (absl::StrContains(name, ".tmp.")) {
      // Left by an interrupted write.
      files_.Remove(absl::StrCat(directory_, "/", name)).IgnoreError();
    } else if (absl::ConsumeSuffix(&number, kSuffix) && absl::SimpleAtoi(number, &file)) {
      files.push_back(file);
    }
  }
  std::sort(files.begin(), files.end());
  std::map<AttemptId, SpooledResult> latest;
  for (const uint64_t file : files) {
    next_file_ = file + 1;
    const std::string path = PathOf(file);
    absl::StatusOr<std::string> text = files_.Read(path);
    absl::StatusOr<std::vector<SpooledResult>> results =
        text.ok() ? ParseResults(*text) : text.status();
    if (!results.ok()) {
      LogError("a file of spooled results is damaged and is set aside",
               {{"file", path}, {"error", results.status().ToString()}});
      files_.Rename(path, absl::StrCat(path, ".damaged")).IgnoreError();
      continue;
    }
    for (SpooledResult& result : *results) {
      const AttemptId id = result.finished.id;
      if (const auto old = file_of_.find(id); old != file_of_.end()) {
        Release(old->second);
      }
      file_of_[id] = file;
      ++live_in_[file];
      latest.insert_or_assign(id, std::move(result));
    }
  }
  for (auto& [id, result] : latest) {
    recovered_.push_back(std::move(result));
  }
  return absl::OkStatus();
}

absl::Status FileSpool::Put(const std::vector<SpooledResult>& results) {
  if (results.empty()) {
    return absl::OkStatus();
  }
  const uint64_t file = next_file_++;
  const absl::Status put = files_.WriteAtomically(PathOf(file), FormatResults(results), 0600);
  if (!put.ok()) {
    // Where only its name could not be synced, it lies there all the same, and each further try
    // would leave another.
    files_.Remove(PathOf(file)).IgnoreError();
    return put;
  }
  for (const SpooledResult& result : results) {
    const auto [it, is_new] = file_of_.try_emplace(result.finished.id, file);
    if (!is_new) {
      const uint64_t old = it->second;
      it->second = file;
      ++live_in_[file];
      Release(old);
    } else {
      ++live_in_[file];
    }
  }
  return absl::OkStatus();
}

void FileSpool::Release(uint64_t file) {
  const auto it = live_in_.find(file);
  if (it != live_in_.end() && --it->second == 0) {
    live_in_.erase(it);
    files_.Remove(PathOf(file)).IgnoreError();  // a file that stays is only delivered again
  }
}

void FileSpool::Remove(const std::vector<AttemptId>& ids) {
  for (const AttemptId& id : ids) {
    const auto it = file_of_.find(id);
    if (it != file_of_.end()) {
      const uint64_t file = it->second;
      file_of_.erase(it);
      Release(file);
    }
  }
}

}  // namespace concur::worker
