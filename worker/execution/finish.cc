// SPDX-License-Identifier: Apache-2.0
#include "worker/finish.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "archive/directory_tar.h"
#include "base/file.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "store/pack_format.h"

namespace concur::worker {
namespace {

constexpr int kExitTemporary = 75;
constexpr int kExitConfig = 78;
constexpr int kExitKilled = 128 + SIGKILL;  // how a shell reports that its child was killed
constexpr size_t kLastLineBytesMax = 500;

std::string Megabytes(int64_t bytes) {
  return absl::StrFormat("%.0f MiB", static_cast<double>(bytes) / (1 << 20));
}

// Well-formed UTF-8 without control characters, at most `bytes_max` bytes.
std::string CleanText(absl::string_view text, size_t bytes_max) {
  std::string clean = CleanUtf8(text, bytes_max);
  for (char& c : clean) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) {
      c = ' ';
    }
  }
  return clean;
}

// The last line that a job printed: most often its error. "" when it printed nothing.
std::string LastLine(const std::string& log_last) {
  for (std::vector<std::string> lines = absl::StrSplit(log_last, '\n'); !lines.empty();
       lines.pop_back()) {
    absl::string_view line = absl::StripAsciiWhitespace(lines.back());
    if (!line.empty()) {
      line = line.substr(line.size() > kLastLineBytesMax ? line.size() - kLastLineBytesMax : 0);
      return CleanText(line, kLastLineBytesMax);
    }
  }
  return "";
}

// Of a job that ended by itself: what it said, then how it ended.
std::string OwnWordsFirst(const std::string& how, const std::string& log_last) {
  const std::string line = LastLine(log_last);
  return line.empty() ? how : absl::StrCat(line, " (", how, ")");
}

// Of a job that was killed: why, then what it had said last.
std::string ReasonFirst(const std::string& why, const std::string& log_last) {
  const std::string line = LastLine(log_last);
  return line.empty() ? why : absl::StrCat(why, "; last output: ", line);
}

bool LooksOutOfMemory(const JobOrder& order, const ProcessEnd& end) {
  return end.kernel_oom || (order.resources.memory_bytes > 0 &&
                            end.memory_bytes_peak >= order.resources.memory_bytes / 10 * 9);
}

JobResult ClassifySignal(const JobOrder& order, const ProcessEnd& end, int signal) {
  if (signal == SIGKILL && LooksOutOfMemory(order, end)) {
    return FailedResult(
        FailureClass::kOutOfMemory,
        ReasonFirst(absl::StrCat("killed while it used ", Megabytes(end.memory_bytes_peak),
                                 end.kernel_oom ? "; the machine ran out of memory" : ""),
                    end.log_last));
  }
  const char* text = sigdescr_np(signal);
  return FailedResult(FailureClass::kFailed,
                      OwnWordsFirst(absl::StrCat("killed by signal ", signal, ", ",
                                                 text == nullptr ? "unknown" : text),
                                    end.log_last));
}

JobResult ClassifyExit(const JobOrder& order, const ProcessEnd& end, int code) {
  if (code == 0) {
    JobResult result;
    result.succeeded = true;
    return result;
  }
  const std::string message = OwnWordsFirst(absl::StrCat("exit code ", code), end.log_last);
  if (code == kExitKilled && LooksOutOfMemory(order, end)) {
    return FailedResult(FailureClass::kOutOfMemory, message);
  }
  return FailedResult(code == kExitTemporary ? FailureClass::kTemporary
                      : code == kExitConfig  ? FailureClass::kConfig
                                             : FailureClass::kFailed,
                      message);
}

JobResult ClassifyCause(const JobOrder& order, const ProcessEnd& end,
                        std::optional<StopCause> stopped) {
  switch (end.killed_for) {
    case KillCause::kStop:
      return FailedResult(FailureClass::kPreempted,
                          StopCauseText(stopped.value_or(StopCause::kPreempted)));
    case KillCause::kTimeout:
      return FailedResult(FailureClass::kTimeout,
                          ReasonFirst(absl::StrCat("ran longer than its time-out of ",
                                                   absl::FormatDuration(order.timeout)),
                                      end.log_last));
    case KillCause::kMemory:
      return FailedResult(
          FailureClass::kOutOfMemory,
          end.memory_bytes_peak > order.resources.memory_bytes
              ? absl::StrCat("used ", Megabytes(end.memory_bytes_peak), ", more than the ",
                             Megabytes(order.resources.memory_bytes), " that it asked for")
              : absl::StrCat("needed more than the ", Megabytes(order.resources.memory_bytes),
                             " that it asked for"));
    case KillCause::kDisk:
      return FailedResult(FailureClass::kFailed,
                          absl::StrCat("wrote ", Megabytes(end.disk_bytes_peak),
                                       " into its run directory, more than this worker allows"));
    case KillCause::kNone:
      break;
  }
  return WIFSIGNALED(end.wait_status) ? ClassifySignal(order, end, WTERMSIG(end.wait_status))
                                      : ClassifyExit(order, end, WEXITSTATUS(end.wait_status));
}

using FileType = Outputs::Type;

FileType TypeOf(const std::string& path, int64_t& file_bytes) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) {
    return FileType::kMissing;
  }
  file_bytes += S_ISDIR(info.st_mode) ? 0 : info.st_size;
  return S_ISREG(info.st_mode)   ? FileType::kFile
         : S_ISDIR(info.st_mode) ? FileType::kDirectory
                                 : FileType::kOther;
}

FileType TypeOf(const std::string& path) {
  int64_t file_bytes = 0;
  return TypeOf(path, file_bytes);
}

void AddArtifact(ArtifactKind kind, const FileDigest& put, JobResult& result) {
  result.artifacts.push_back({kind, put.digest, put.bytes});
}

// `name` is what the job knows the directory as. InvalidArgument when its tar has more than
// `bytes_max` bytes (0: no limit), the worker's `option`: a file with holes takes fewer on the
// disk.
absl::StatusOr<FileDigest> PutDirectory(const std::string& path, absl::string_view name,
                                        int64_t bytes_max, absl::string_view option,
                                        Artifacts& artifacts) {
  return artifacts.PutStream([&](ArtifactStore::Writer& writer) {
    int64_t bytes = 0;
    return WriteDirectoryTar(path, [&](absl::string_view data) {
      bytes += static_cast<int64_t>(data.size());
      return bytes_max > 0 && bytes > bytes_max
                 ? absl::InvalidArgumentError(absl::StrCat(name, " has more than this worker's ",
                                                           option, " of ", Megabytes(bytes_max)))
                 : writer.Append(data);
    });
  });
}

// Whether there is no such directory, or nothing in it.
bool HasNothing(const std::string& path) {
  const FileType type = TypeOf(path);
  std::error_code error;
  return type == FileType::kMissing ||
         (type == FileType::kDirectory && std::filesystem::is_empty(path, error));
}

absl::StatusOr<FileDigest> PutCheckpoint(const std::string& path, int64_t bytes_max,
                                         Artifacts& artifacts) {
  if (TypeOf(path) != FileType::kDirectory) {
    return absl::InvalidArgumentError(
        "$CONCUR_CHECKPOINT is a link or a file; expected the directory that was there");
  }
  return PutDirectory(path, "$CONCUR_CHECKPOINT", bytes_max, "checkpoint_bytes_max", artifacts);
}

absl::Status CollectSystem(const RunPaths& paths, FileType model, int64_t bytes_max,
                           Artifacts& artifacts, JobResult& result) {
  FileDigest put;
  switch (model) {
    case FileType::kFile: {
      CONCUR_ASSIGN_OR_RETURN(put, artifacts.PutFile(paths.model));
      break;
    }
    case FileType::kDirectory: {
      CONCUR_ASSIGN_OR_RETURN(
          put, PutDirectory(paths.model, "{model}", bytes_max, "output_bytes_max", artifacts));
      break;
    }
    case FileType::kMissing:
      return absl::InvalidArgumentError(
          "the train command ended with exit code 0 but left no file or directory at {model}");
    case FileType::kOther:
      return absl::InvalidArgumentError(
          "{model} is a link or a special file; expected a plain file or a directory");
  }
  AddArtifact(ArtifactKind::kSystem, put, result);
  return absl::OkStatus();
}

absl::Status CollectPredictions(const JobOrder& order, const RunPaths& paths,
                                const Scorer::Gold& gold, Artifacts& artifacts, JobResult& result) {
  CONCUR_ASSIGN_OR_RETURN(const FileDigest predictions,
                          artifacts.PutFile(paths.predictions, Durability::kAtSync));
  AddArtifact(ArtifactKind::kPredictions, predictions, result);
  if (gold == nullptr) {
    return absl::OkStatus();
  }
  CONCUR_ASSIGN_OR_RETURN(Scores scores, Scorer::Score(gold, order.format, paths.predictions));
  CONCUR_ASSIGN_OR_RETURN(const FileDigest examples, artifacts.Put(scores.examples));
  result.metrics = std::move(scores.metrics);
  AddArtifact(ArtifactKind::kExamples, examples, result);
  return absl::OkStatus();
}

absl::Status CollectMetrics(const RunPaths& paths, Artifacts& artifacts, JobResult& result) {
  CONCUR_ASSIGN_OR_RETURN(MetricsFile file, ReadMetrics(paths.metrics));
  CONCUR_ASSIGN_OR_RETURN(const FileDigest put, artifacts.Put(file.text));
  AddArtifact(ArtifactKind::kMetrics, put, result);
  // Scores that the worker computed itself win over a metric of the same name.
  for (Metric& metric : file.metrics) {
    const bool taken = std::any_of(result.metrics.begin(), result.metrics.end(),
                                   [&](const Metric& m) { return m.name == metric.name; });
    if (!taken && result.metrics.size() < kMetricsMax) {
      result.metrics.push_back(std::move(metric));
    }
  }
  std::sort(result.metrics.begin(), result.metrics.end(),
            [](const Metric& a, const Metric& b) { return a.name < b.name; });
  return absl::OkStatus();
}

// Per-example scores of a program that computes its own metrics.
absl::Status CollectExamples(const RunPaths& paths, Artifacts& artifacts, JobResult& result) {
  const bool taken =
      std::any_of(result.artifacts.begin(), result.artifacts.end(),
                  [](const ArtifactRef& a) { return a.kind == ArtifactKind::kExamples; });
  if (taken) {
    return absl::OkStatus();  // those of answers that the worker scored itself win
  }
  CONCUR_ASSIGN_OR_RETURN(const std::string examples, ReadExamples(paths.examples));
  CONCUR_ASSIGN_OR_RETURN(const FileDigest put, artifacts.Put(examples));
  AddArtifact(ArtifactKind::kExamples, put, result);
  return absl::OkStatus();
}

absl::Status CheckPlain(FileType type, absl::string_view placeholder) {
  return type == FileType::kOther || type == FileType::kDirectory
             ? absl::InvalidArgumentError(absl::StrCat(
                   placeholder, " is a link, a directory or a special file; expected a plain file"))
             : absl::OkStatus();
}

absl::Status CollectEval(const JobOrder& order, const RunPaths& paths, const Outputs& outputs,
                         const Scorer::Gold& gold, Artifacts& artifacts, JobResult& result) {
  CONCUR_RETURN_IF_ERROR(CheckPlain(outputs.predictions, "{predictions}"));
  CONCUR_RETURN_IF_ERROR(CheckPlain(outputs.metrics, "{metrics}"));
  CONCUR_RETURN_IF_ERROR(CheckPlain(outputs.examples, "{examples}"));
  if (outputs.predictions == FileType::kMissing && outputs.metrics == FileType::kMissing) {
    return absl::InvalidArgumentError(
        absl::StrCat("the predict command ended with exit code 0 but wrote ",
                     IsQa(order.format) ? "neither {predictions} nor {metrics}" : "no {metrics}"));
  }
  if (outputs.predictions == FileType::kFile) {
    CONCUR_RETURN_IF_ERROR(CollectPredictions(order, paths, gold, artifacts, result));
  }
  if (outputs.metrics == FileType::kFile) {
    CONCUR_RETURN_IF_ERROR(CollectMetrics(paths, artifacts, result));
  }
  if (outputs.examples == FileType::kFile) {
    CONCUR_RETURN_IF_ERROR(CollectExamples(paths, artifacts, result));
  }
  return result.metrics.empty()
             ? absl::InvalidArgumentError(
                   "the benchmark is not question answering: the predict command must write "
                   "{metrics}")
             : absl::OkStatus();
}

// One that could not be written whole, as on a full disk, says so at its end.
absl::StatusOr<FileDigest> KeepLog(const RunPaths& paths, const ProcessEnd& end,
                                   Artifacts& artifacts) {
  if (end.log_status.ok()) {
    return artifacts.PutFile(paths.log, Durability::kAtSync);
  }
  const absl::StatusOr<std::string> written = ReadFile(paths.log);
  return artifacts.Put(absl::StrCat(
      written.ok() ? *written : "",
      "\n[the rest of the log could not be written: ", end.log_status.message(), "]\n"));
}

// Turns success into a failure, and keeps the artifacts that tell why.
void TurnIntoFailure(const absl::Status& status, JobResult& result) {
  const FailureClass failure =
      absl::IsInvalidArgument(status) ? FailureClass::kInvalidOutput : ClassOfWorkerError(status);
  JobResult failed = FailedResult(failure, status.message());
  result.succeeded = false;
  result.failure = failed.failure;
  result.message = std::move(failed.message);
  result.metrics.clear();
}

}  // namespace

absl::string_view StopCauseText(StopCause cause) {
  switch (cause) {
    case StopCause::kCanceled:
      return "stopped: the job was canceled";
    case StopCause::kFenced:
      return "stopped: the job is no longer this worker's";
    case StopCause::kEarlyStop:
      return "stopped early: other settings do better, or may";
    case StopCause::kPreempted:
      break;
  }
  return "handed back: the worker is shutting down";
}

JobResult FailedResult(FailureClass failure, absl::string_view message) {
  JobResult result;
  result.failure = failure;
  result.exit_code = -1;
  result.message = CleanText(message, kMessageBytesMax);
  return result;
}

JobResult WithoutArtifacts(const JobResult& result, absl::string_view done,
                           const absl::Status& status) {
  JobResult failed = FailedResult(
      FailureClass::kWorker,
      absl::StrCat("the attempt's artifacts could not be ", done, ": ", status.message()));
  failed.start_time = result.start_time;
  failed.run_time = result.run_time;
  return failed;
}

JobResult AfterFailedSync(JobResult result, const absl::Status& status) {
  const auto is_small = [](const ArtifactRef& artifact) {
    return artifact.kind != ArtifactKind::kSystem && artifact.bytes <= kPackedBytesMax;
  };
  // A result is worth more than its log.
  const size_t dropped = std::erase_if(result.artifacts, [&](const ArtifactRef& artifact) {
    return artifact.kind == ArtifactKind::kLog && is_small(artifact);
  });
  const absl::Status failure =
      status.ok() ? absl::UnknownError("an earlier sync of the store failed") : status;
  if (std::any_of(result.artifacts.begin(), result.artifacts.end(), is_small)) {
    return WithoutArtifacts(result, "made durable", failure);
  }
  if (dropped > 0) {
    LogWarning("the log of an attempt could not be kept", {{"error", failure.ToString()}});
  }
  return result;
}

FailureClass ClassOfWorkerError(const absl::Status& status) {
  return absl::IsInvalidArgument(status) ? FailureClass::kConfig : FailureClass::kWorker;
}

bool MayWorkLater(const absl::Status& status) {
  return !absl::IsNotFound(status) && !absl::IsDataLoss(status) &&
         !absl::IsInvalidArgument(status) && !absl::IsFailedPrecondition(status) &&
         !absl::IsOutOfRange(status) && !absl::IsUnimplemented(status);
}

std::vector<Digest> DigestsOf(const FinishedAttempt& finished) {
  std::vector<Digest> digests;
  for (const ArtifactRef& artifact : finished.result.artifacts) {
    digests.push_back(artifact.digest);
  }
  if (finished.checkpoint) {
    digests.push_back(finished.checkpoint->digest);
  }
  return digests;
}

JobResult ClassifyEnd(const JobOrder& order, const ProcessEnd& end,
                      std::optional<StopCause> stopped) {
  JobResult result = ClassifyCause(order, end, stopped);
  result.exit_code =
      WIFSIGNALED(end.wait_status) ? 128 + WTERMSIG(end.wait_status) : WEXITSTATUS(end.wait_status);
  result.run_time = end.run_time;
  result.memory_bytes_peak = end.memory_bytes_peak;
  return result;
}

JobResult CollectOutputs(const JobOrder& order, const RunPaths& paths, const Outputs& outputs,
                         const ProcessEnd& end, int64_t bytes_max, JobResult result,
                         const Scorer::Gold& gold, Artifacts& artifacts) {
  if (result.succeeded) {
    const absl::Status status =
        order.is_train ? CollectSystem(paths, outputs.model, bytes_max, artifacts, result)
                       : CollectEval(order, paths, outputs, gold, artifacts, result);
    if (!status.ok()) {
      TurnIntoFailure(status, result);
    }
  }
  if (end.log_bytes > 0) {
    const absl::StatusOr<FileDigest> log = KeepLog(paths, end, artifacts);
    if (log.ok()) {
      AddArtifact(ArtifactKind::kLog, *log, result);
    } else {
      // A result is worth more than its log.
      LogWarning("the log of an attempt could not be kept",
                 {{"attempt", order.id.ToString()}, {"error", log.status().ToString()}});
    }
  }
  std::sort(result.artifacts.begin(), result.artifacts.end(),
            [](const ArtifactRef& a, const ArtifactRef& b) { return a.kind < b.kind; });
  return result;
}

void AddCheckpointLoss(const absl::Status& status, JobResult& result) {
  result.message = CleanText(absl::StrCat(result.message, result.message.empty() ? "" : "; ",
                                          "its checkpoint was not kept: ", status.message()),
                             kMessageBytesMax);
}

std::optional<Checkpoint> CollectCheckpoint(const JobOrder& order, const RunPaths& paths,
                                            int64_t bytes_max, Artifacts& artifacts,
                                            JobResult& result) {
  const absl::StatusOr<FileDigest> put = PutCheckpoint(paths.checkpoint, bytes_max, artifacts);
  if (!put.ok()) {
    AddCheckpointLoss(put.status(), result);
    return std::nullopt;
  }
  return Checkpoint{put->digest, put->bytes, order.id.attempt.number};
}

Outputs LookAtOutputs(const JobOrder& order, const RunPaths& paths) {
  Outputs outputs;
  if (order.is_train) {
    outputs.model = TypeOf(paths.model, outputs.file_bytes);
    outputs.has_checkpoint = !HasNothing(paths.checkpoint);
  } else {
    outputs.predictions = TypeOf(paths.predictions, outputs.file_bytes);
    outputs.metrics = TypeOf(paths.metrics, outputs.file_bytes);
    outputs.examples = TypeOf(paths.examples, outputs.file_bytes);
  }
  return outputs;
}

bool Outputs::AreSmall(const ProcessEnd& end, int64_t bytes_max) const {
  const bool is_directory = model == Type::kDirectory || predictions == Type::kDirectory ||
                            metrics == Type::kDirectory || examples == Type::kDirectory;
  return !is_directory && !has_checkpoint && end.log_bytes + file_bytes <= bytes_max;
}

}  // namespace concur::worker
