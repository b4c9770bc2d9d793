// SPDX-License-Identifier: Apache-2.0
#include "qa/results/import.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "qa/raw_stream.h"
#include "qa/results/assemble.h"
#include "qa/results/column_names.h"
#include "qa/results/imported.h"
#include "qa/results/json.h"
#include "qa/results/reader.h"
#include "qa/results/results.h"
#include "qa/results/settings.h"

namespace concur::imports {
namespace {

constexpr size_t kFilesMax = 10'000'000;
constexpr size_t kBatch = 1024;  // files whose results are held until they are assembled
constexpr int kThreadsMax = 64;

struct FoundFile {
  std::string path;
  bool named = false;  // by the caller, not met in a folder
};

absl::Status ListFolder(const std::string& folder, const Format& format,
                        std::vector<FoundFile>& files) {
  std::error_code error;
  std::vector<std::string> found;
  std::filesystem::recursive_directory_iterator entries(folder, error);
  for (; !error && entries != std::filesystem::recursive_directory_iterator();
       entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    if (!name.empty() && name[0] == '.') {
      entries.disable_recursion_pending();
      continue;
    }
    absl::string_view unpacked = name;
    for (const absl::string_view suffix : qa::kPackedSuffixes) {
      if (absl::ConsumeSuffix(&unpacked, suffix)) {
        break;
      }
    }
    std::error_code ignored;
    if (format.wants(unpacked) && entries->is_regular_file(ignored)) {
      found.push_back(entries->path().string());
      if (found.size() + files.size() > kFilesMax) {
        return absl::InvalidArgumentError(
            absl::StrCat(folder, ": expected at most ", kFilesMax, " files"));
      }
    }
  }
  if (error) {
    return ErrnoStatus(error.value(), folder, "list");
  }
  std::sort(found.begin(), found.end());
  for (std::string& path : found) {
    files.push_back({std::move(path), false});
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<FoundFile>> ListFiles(const ImportRequest& request,
                                                 const Format& format) {
  std::vector<FoundFile> files;
  for (const std::string& path : request.paths) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(path, ignored)) {
      if (!std::filesystem::exists(path, ignored)) {
        return absl::NotFoundError(absl::StrCat(path, ": no such file or folder"));
      }
      files.push_back({path, true});
      continue;
    }
    const size_t before = files.size();
    CONCUR_RETURN_IF_ERROR(ListFolder(path, format, files));
    if (files.size() == before) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": expected ", format.about, ", found none"));
    }
  }
  return files;
}

// Each path from the folder that holds all, without its suffix: "2024-01/mmlu", "2024-02/mmlu".
std::vector<std::string> LabelsOf(const std::vector<FoundFile>& files) {
  const std::string& first = files[0].path;
  size_t shared = first.rfind('/') + 1;  // bytes; 0: none
  std::vector<std::string> labels;
  for (const FoundFile& file : files) {
    while (file.path.compare(0, shared, first, 0, shared) != 0) {
      shared = shared < 2 ? 0 : first.rfind('/', shared - 2) + 1;
    }
  }
  for (const FoundFile& file : files) {
    labels.push_back(file.path.substr(shared, file.path.rfind('.') - shared));
  }
  return labels;
}

// Each of several tables is a board of its own: where two have a model on a task, nothing says that
// the later one repeats the earlier. A table that is called "seed-2" or "run 3" does.
void TellBoardApart(const std::string& label, FileResults& board) {
  const size_t digit = label.find_first_of("0123456789");
  const bool is_repeat = digit != label.npos && NamesRepeat(label.substr(0, digit)) &&
                         label.find_first_not_of("0123456789", digit) == label.npos;
  for (Run& run : board.runs) {
    if (is_repeat) {
      run.repeat = absl::StrCat(label, run.repeat.empty() ? "" : " ", run.repeat);
    } else {
      AddSetting(run.model_settings, "", "board", label);
    }
  }
}

using BatchResults = std::vector<std::optional<absl::StatusOr<FileResults>>>;

BatchResults ReadBatch(const ImportRequest& request, const Format& format,
                       const std::vector<FoundFile>& files, size_t begin,
                       std::vector<JsonDocument>& documents) {
  BatchResults batch(std::min(kBatch, files.size() - begin));
  std::atomic<size_t> next = 0;
  const auto work = [&](size_t thread) {
    for (size_t i = next++; i < batch.size(); i = next++) {
      batch[i] = format.read(files[begin + i].path, request.options, documents[thread]);
    }
  };
  std::vector<std::thread> threads;
  for (size_t t = 1; t < documents.size(); ++t) {
    threads.emplace_back(work, t);
  }
  work(0);
  for (std::thread& thread : threads) {
    thread.join();
  }
  return batch;
}

}  // namespace

absl::StatusOr<ImportedResults> Import(const ImportRequest& request) {
  CONCUR_ASSIGN_OR_RETURN(const Format format, FindFormat(request.format));
  if (request.paths.empty()) {
    return absl::InvalidArgumentError("expected a file or a folder to import");
  }
  CONCUR_ASSIGN_OR_RETURN(const std::vector<FoundFile> files, ListFiles(request, format));
  std::vector<JsonDocument> documents(
      static_cast<size_t>(std::clamp(request.threads, 1, kThreadsMax)));
  Assembly assembly(request);
  std::vector<std::string> labels;
  if (format.name == absl::string_view("leaderboard") && files.size() > 1) {
    labels = LabelsOf(files);
  }
  for (size_t begin = 0; begin < files.size(); begin += kBatch) {
    BatchResults batch = ReadBatch(request, format, files, begin, documents);
    for (size_t i = 0; i < batch.size(); ++i) {
      absl::StatusOr<FileResults>& file = *batch[i];
      if (file.ok()) {
        if (!labels.empty()) {
          TellBoardApart(labels[begin + i], *file);
        }
        assembly.Add(*std::move(file));
      } else if (files[begin + i].named || request.strict) {
        return file.status();
      } else {
        assembly.Skip("a file that cannot be read as " + request.format,
                      std::string(file.status().message()));
      }
    }
    if (request.progress) {
      request.progress(begin + batch.size(), files.size());
    }
  }
  return assembly.Finish();
}

}  // namespace concur::imports
