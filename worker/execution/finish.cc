// SPDX-License-Identifier: Apache-2.0
#include "worker/execution/finish.h"

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
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/archive/directory_tar.h"
#include "base/file.h"
#include "base/log.h"
#include "base/process/job_disk.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "core/spent.h"
#include "store/artifacts/pack_format.h"

namespace concur::worker {
namespace {

constexpr int kExitTemporary = 75;
constexpr int kExitConfig = 78;
constexpr int kExitKilled = 128 + SIGKILL;  // a shell's report that its child was killed
constexpr size_t kLastLineBytesMax = 500;
constexpr size_t kLinkBytesMax = 500;

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

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

// Bytes of a progress bar's fill at the start of `text`: "#", "=", "█", "━" and their like.
size_t FillBytes(absl::string_view text) {
  if (text.size() >= 3 && text[0] == '\xE2' && text[1] >= '\x94' && text[1] <= '\x96') {
    return 3;  // box drawing and block elements
  }
  return !text.empty() && absl::StrContains(" #=>.-*", text[0]) ? 1 : 0;
}

size_t DigitBytes(absl::string_view text) { return !text.empty() && IsDigit(text[0]) ? 1 : 0; }

// Bytes that the line has in common with the whole of `bar`, where any two numbers are alike, and
// any two fills; 0 when it does not begin so.
size_t CommonWith(absl::string_view bar, absl::string_view line) {
  const size_t all = line.size();
  bar = absl::StripLeadingAsciiWhitespace(bar);  // "  5%", "100%"
  line = absl::StripLeadingAsciiWhitespace(line);
  if (bar.empty()) {
    return 0;
  }
  while (!bar.empty()) {
    bool alike = false;
    for (const auto bytes_of : {FillBytes, DigitBytes}) {
      if (bytes_of(bar) > 0 && bytes_of(line) > 0) {
        alike = true;
        for (absl::string_view* text : {&bar, &line}) {
          while (bytes_of(*text) > 0) {
            text->remove_prefix(bytes_of(*text));
          }
        }
      }
    }
    if (!alike) {
      if (line.empty() || bar[0] != line[0]) {
        return 0;
      }
      bar.remove_prefix(1);
      line.remove_prefix(1);
    }
  }
  return all - line.size();
}

// Where the error begins in a line that began with a progress bar ("1/9 fileserror: …"): behind
// what it has in common with the bar before, else at "error:", or at the exception's name that ends
// in "Error:".
size_t EndOfProgress(absl::string_view bar_before, absl::string_view line) {
  if (const size_t common = CommonWith(bar_before, line); common > 0) {
    return common == line.size() ? 0 : common;  // there is nothing but the bar
  }
  size_t name = std::min(line.find("error:"), line.find("Error:"));
  if (name == absl::string_view::npos) {
    return 0;
  }
  const size_t end = name;
  while (line[end] == 'E' && name > 0 &&
         absl::ascii_isalpha(static_cast<unsigned char>(line[name - 1]))) {
    --name;
  }
  while (name < end && !absl::ascii_isupper(static_cast<unsigned char>(line[name]))) {
    ++name;
  }
  return name;
}

// Without a terminal's escape sequences, as of colours: "ESC[31m", "ESC]0;title BEL", "ESC(B".
std::string WithoutEscapes(absl::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const size_t escape = std::min(text.find('\x1b'), text.size());
    absl::StrAppend(&plain, text.substr(0, escape));
    text.remove_prefix(std::min(escape + 1, text.size()));
    size_t end = 0;
    if (absl::StartsWith(text, "[")) {
      ++end;
      while (end < text.size() && (text[end] < '@' || text[end] > '~') && text[end] != '\n') {
        ++end;
      }
      end += end < text.size() && text[end] != '\n' ? 1 : 0;
    } else if (absl::StartsWith(text, "]")) {
      end = std::min(text.find_first_of("\a\x1b\n"), text.size());
      end += end < text.size() && text[end] == '\a' ? 1 : 0;
    } else {
      while (end < text.size() && text[end] >= ' ' && text[end] <= '/') {
        ++end;
      }
      end += end < text.size() && text[end] != '\n' ? 1 : 0;
    }
    text.remove_prefix(end);
  }
  return plain;
}

// The last line that a job printed: most often its error. "" when it printed nothing.
std::string LastLine(const std::string& log_last) {
  for (std::vector<std::string> lines = absl::StrSplit(WithoutEscapes(log_last), '\n');
       !lines.empty(); lines.pop_back()) {
    // A progress bar begins its line anew with a carriage return.
    std::vector<std::string> parts = absl::StrSplit(lines.back(), '\r');
    while (!parts.empty() && absl::StripAsciiWhitespace(parts.back()).empty()) {
      parts.pop_back();
    }
    if (!parts.empty()) {
      absl::string_view line = parts.back();
      if (parts.size() > 1) {
        line.remove_prefix(EndOfProgress(parts[parts.size() - 2], line));
      }
      line = absl::StripAsciiWhitespace(line);
      line = line.substr(line.size() > kLastLineBytesMax ? line.size() - kLastLineBytesMax : 0);
      return CleanText(line, kLastLineBytesMax);
    }
  }
  return "";
}

// Message of a job that ended by itself: what it said, then how it ended.
std::string OwnWordsFirst(const std::string& how, const std::string& log_last) {
  const std::string line = LastLine(log_last);
  return line.empty() ? how : absl::StrCat(line, " (", how, ")");
}

// Message of a job that was killed: why, then what it had said last.
std::string ReasonFirst(const std::string& why, const std::string& log_last) {
  const std::string line = LastLine(log_last);
  return line.empty() ? why : absl::StrCat(why, "; last output: ", line);
}

bool LooksOutOfMemory(const JobOrder& order, const process::ProcessEnd& end) {
  return end.kernel_oom || (order.resources.memory_bytes > 0 &&
                            end.memory_bytes_peak >= order.resources.memory_bytes / 10 * 9);
}

JobResult ClassifySignal(const JobOrder& order, const process::ProcessEnd& end, int signal) {
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

JobResult ClassifyExit(const JobOrder& order, const process::ProcessEnd& end, int code) {
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

JobResult ClassifyCause(const JobOrder& order, const process::ProcessEnd& end,
                        std::optional<StopCause> stopped) {
  switch (end.killed_for) {
    case process::KillCause::kStop:
      return FailedResult(FailureClass::kPreempted,
                          StopCauseText(stopped.value_or(StopCause::kPreempted)));
    case process::KillCause::kTimeout:
      return FailedResult(FailureClass::kTimeout,
                          ReasonFirst(absl::StrCat("ran longer than its time-out of ",
                                                   absl::FormatDuration(order.timeout)),
                                      end.log_last));
    case process::KillCause::kMemory:
      return FailedResult(
          FailureClass::kOutOfMemory,
          end.memory_bytes_peak > order.resources.memory_bytes
              ? absl::StrCat("used ", Megabytes(end.memory_bytes_peak), ", more than the ",
                             Megabytes(order.resources.memory_bytes), " that it asked for")
              : absl::StrCat("needed more than the ", Megabytes(order.resources.memory_bytes),
                             " that it asked for"));
    case process::KillCause::kDisk:
      return FailedResult(FailureClass::kFailed,
                          end.disk_bytes_peak == process::kDiskUncounted
                              ? absl::StrCat("made folders in its run directory that cannot be ",
                                             "counted: expected at most ",
                                             process::kJobFolderDepthMax, " in each other")
                              : absl::StrCat("wrote ", Megabytes(end.disk_bytes_peak),
                                             " into its run directory, more than this worker's "
                                             "output_bytes_max"));
    case process::KillCause::kNone:
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
                                        Artifacts& artifacts,
                                        std::vector<std::string>* left_out = nullptr) {
  return artifacts.PutStream([&](ArtifactStore::Writer& writer) {
    int64_t bytes = 0;
    return WriteDirectoryTar(
        path,
        [&](absl::string_view data) {
          bytes += static_cast<int64_t>(data.size());
          return bytes_max > 0 && bytes > bytes_max ? absl::InvalidArgumentError(absl::StrCat(
                                                          name, " has more than this worker's ",
                                                          option, " of ", Megabytes(bytes_max)))
                                                    : writer.Append(data);
        },
        left_out);
  });
}

absl::StatusOr<FileDigest> PutCheckpoint(const std::string& path, int64_t bytes_max,
                                         Artifacts& artifacts) {
  if (TypeOf(path) != FileType::kDirectory) {
    return absl::InvalidArgumentError(
        "$CONCUR_CHECKPOINT is a link or a file; expected the directory that was there");
  }
  return PutDirectory(path, "$CONCUR_CHECKPOINT", bytes_max, "checkpoint_bytes_max", artifacts);
}

// ", to /scratch/model" of a link.
std::string TargetText(const std::string& path) {
  std::error_code error;
  const std::string target = std::filesystem::read_symlink(path, error).string();
  return error ? "" : absl::StrCat(", to ", target);
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

absl::Status CollectSystem(const RunPaths& paths, FileType model, int64_t bytes_max,
                           Artifacts& artifacts, JobResult& result) {
  FileDigest put;
  std::string path = paths.model;
  std::vector<std::string> left_out;
  if (model == FileType::kOther) {
    // A link to what the job made itself.
    std::error_code error;
    const std::string real = std::filesystem::canonical(path, error).string();
    if (!error && absl::StartsWith(real, absl::StrCat(paths.directory, "/"))) {
      model = TypeOf(path = real);
    }
  }
  switch (model) {
    case FileType::kFile: {
      CONCUR_ASSIGN_OR_RETURN(put, artifacts.PutFile(path));
      break;
    }
    case FileType::kDirectory: {
      CONCUR_ASSIGN_OR_RETURN(
          put, PutDirectory(path, "{model}", bytes_max, "output_bytes_max", artifacts, &left_out));
      break;
    }
    case FileType::kMissing:
      return absl::InvalidArgumentError(
          "the train command ended with exit code 0 but left no file or directory at {model}");
    case FileType::kOther:
      return absl::InvalidArgumentError(
          absl::StrCat("{model} is a special file, or a link that leads out of the job's directory",
                       TargetText(path), "; expected a plain file or a directory"));
  }
  AddArtifact(ArtifactKind::kSystem, put, result);
  if (left_out.empty()) {
    return absl::OkStatus();
  }
  // Without it the system may predict otherwise; another attempt would make it again.
  TurnIntoFailure(
      absl::InvalidArgumentError(absl::StrCat(
          "{model} has ", left_out[0],
          left_out.size() > 1 ? absl::StrCat(" (and ", left_out.size() - 1, " more such)") : "",
          ": expected files, folders and links that stay inside; write a copy instead. The rest is "
          "kept as the job's artifact of kind system")),
      result);
  result.failure = FailureClass::kConfig;
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
    if (metric.part.empty() && IsSpentName(metric.name)) {
      if (const auto spent = SpentOf(metric.name, metric.value); !spent.ok()) {
        result.message =
            absl::StrCat("not counted as spent: {metrics}: ", spent.status().message());
      }
    }
    const bool taken = std::any_of(
        result.metrics.begin(), result.metrics.end(),
        [&](const Metric& m) { return m.name == metric.name && m.part == metric.part; });
    if (!taken && (!metric.part.empty() || result.metrics.size() < kMetricsMax)) {
      result.metrics.push_back(std::move(metric));
    }
  }
  std::sort(result.metrics.begin(), result.metrics.end(), ComesBefore);
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
  CONCUR_ASSIGN_OR_RETURN(ExamplesFile file, ReadExamples(paths.examples, result.metrics));
  CONCUR_ASSIGN_OR_RETURN(const FileDigest put, artifacts.Put(file.text));
  if (!file.note.empty()) {
    result.message = std::move(file.note);
  }
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
absl::StatusOr<FileDigest> KeepLog(const RunPaths& paths, const process::ProcessEnd& end,
                                   Artifacts& artifacts) {
  if (end.log_status.ok()) {
    return artifacts.PutFile(paths.log, Durability::kAtSync);
  }
  const absl::StatusOr<std::string> written = ReadFile(paths.log);
  return artifacts.Put(absl::StrCat(
      written.ok() ? *written : "",
      "\n[the rest of the log could not be written: ", end.log_status.message(), "]\n"));
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
    case StopCause::kLeaseEnds:
      return "stopped: the coordinator did not answer for a lease, and gives its units of named "
             "resources to others";
    case StopCause::kNotReady:
      return "stopped: it was not ready in time";
    case StopCause::kService:
      return "stopped: its service has ended";
    case StopCause::kPreempted:
      break;
  }
  return "handed back: the worker is shutting down";
}

std::string WarningOfModel(const std::string& model) {
  const std::string link = FindLinkOut(model);
  return link.empty()
             ? ""
             : absl::StrCat("concur: warning: {model} has ", CleanText(link, kLinkBytesMax),
                            ", which leads out of it; the training fails if it ends so: "
                            "write a copy instead");
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

JobResult ClassifyEnd(const JobOrder& order, const process::ProcessEnd& end,
                      std::optional<StopCause> stopped) {
  JobResult result = ClassifyCause(order, end, stopped);
  result.exit_code =
      WIFSIGNALED(end.wait_status) ? 128 + WTERMSIG(end.wait_status) : WEXITSTATUS(end.wait_status);
  result.run_time = end.run_time;
  result.memory_bytes_peak = end.memory_bytes_peak;
  return result;
}

JobResult ClassifyServiceEnd(const JobOrder& order, const process::ProcessEnd& end,
                             std::optional<StopCause> stopped) {
  JobResult result = ClassifyEnd(order, end, stopped);
  if (stopped == StopCause::kNotReady) {
    result.failure = FailureClass::kTimeout;
    result.message =
        ReasonFirst(absl::StrCat("was not ready within ", absl::FormatDuration(order.ready_within)),
                    end.log_last);
  } else if (result.succeeded) {
    result.succeeded = false;
    result.failure = FailureClass::kFailed;
    result.message = OwnWordsFirst("ended by itself, exit code 0", end.log_last);
  }
  return result;
}

JobResult WithChangedInput(const ChangedInput& changed, JobResult result) {
  if (!result.succeeded && result.failure == FailureClass::kPreempted) {
    return result;
  }
  constexpr size_t kNamedMax = 5;
  std::vector<std::string> others;
  for (const AttemptId& other : changed.others) {
    if (others.size() == kNamedMax) {
      others.back() = "others";
      break;
    }
    others.push_back(other.ToString());
  }
  JobResult failed =
      changed.error.ok()
          ? FailedResult(
                changed.differed && others.empty() ? FailureClass::kFailed
                                                   : FailureClass::kTemporary,
                absl::StrCat(
                    changed.label, " was ", changed.differed ? "changed" : "touched",
                    " while the job ran, by it",
                    others.empty() ? "" : absl::StrCat(" or by ", absl::StrJoin(others, ", ")),
                    "; inputs are shared: write to {output} or to a copy. Other jobs get it "
                    "intact"))
          : FailedResult(absl::IsUnavailable(changed.error) ? FailureClass::kTemporary
                                                            : FailureClass::kWorker,
                         absl::StrCat(changed.label, " cannot be verified after the job: ",
                                      changed.error.message()));
  failed.start_time = result.start_time;
  failed.exit_code = result.exit_code;
  failed.run_time = result.run_time;
  failed.memory_bytes_peak = result.memory_bytes_peak;
  return failed;
}

void AddLoss(absl::string_view what, const absl::Status& status, JobResult& result) {
  result.message = CleanText(absl::StrCat(result.message, result.message.empty() ? "" : "; ", what,
                                          " not kept: ", status.message()),
                             kMessageBytesMax);
}

namespace {

// A result is worth more than its outputs: one that loses some says so.
void CollectOutputFolder(const RunPaths& paths, int64_t bytes_max, Artifacts& artifacts,
                         JobResult& result) {
  if (TypeOf(paths.output) != FileType::kDirectory) {
    AddLoss("{output} was",
            absl::InvalidArgumentError("it is a link or a file; expected the directory"), result);
    return;
  }
  std::vector<std::string> left_out;
  const absl::StatusOr<FileDigest> put =
      PutDirectory(paths.output, "{output}", bytes_max, "output_bytes_max", artifacts, &left_out);
  if (!put.ok()) {
    AddLoss("{output} was", put.status(), result);
    return;
  }
  AddArtifact(ArtifactKind::kOutputs, *put, result);
  if (!left_out.empty()) {
    AddLoss("of {output},",
            absl::InvalidArgumentError(absl::StrCat(
                left_out[0],
                left_out.size() > 1 ? absl::StrCat(" and ", left_out.size() - 1, " more") : "")),
            result);
  }
}

}  // namespace

JobResult CollectOutputs(const JobOrder& order, const RunPaths& paths, const Outputs& outputs,
                         const process::ProcessEnd& end, int64_t bytes_max, JobResult result,
                         const Scorer::Gold& gold, Artifacts& artifacts) {
  if (result.succeeded) {
    const absl::Status status =
        order.is_train ? CollectSystem(paths, outputs.model, bytes_max, artifacts, result)
                       : CollectEval(order, paths, outputs, gold, artifacts, result);
    if (!status.ok()) {
      TurnIntoFailure(status, result);
    }
  }
  if (outputs.has_output && result.succeeded) {
    CollectOutputFolder(paths, bytes_max, artifacts, result);
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

std::optional<Checkpoint> CollectCheckpoint(const JobOrder& order, const RunPaths& paths,
                                            int64_t bytes_max, Artifacts& artifacts,
                                            JobResult& result) {
  const absl::StatusOr<FileDigest> put = PutCheckpoint(paths.checkpoint, bytes_max, artifacts);
  if (!put.ok()) {
    AddLoss("its checkpoint was", put.status(), result);
    return std::nullopt;
  }
  return Checkpoint{put->digest, put->bytes, order.id.attempt.number};
}

Outputs LookAtOutputs(const JobOrder& order, const RunPaths& paths) {
  Outputs outputs;
  outputs.has_checkpoint = !HasNothing(paths.checkpoint);
  outputs.has_output = order.keep.outputs && !HasNothing(paths.output);
  if (order.is_train) {
    outputs.model = TypeOf(paths.model, outputs.file_bytes);
  } else {
    outputs.predictions = TypeOf(paths.predictions, outputs.file_bytes);
    outputs.metrics = TypeOf(paths.metrics, outputs.file_bytes);
    outputs.examples = TypeOf(paths.examples, outputs.file_bytes);
  }
  return outputs;
}

bool Outputs::AreSmall(const process::ProcessEnd& end, int64_t bytes_max) const {
  const bool is_directory = model == Type::kDirectory || predictions == Type::kDirectory ||
                            metrics == Type::kDirectory || examples == Type::kDirectory;
  const bool may_be_large = is_directory || model == Type::kOther;  // a link to either
  return !may_be_large && !has_checkpoint && !has_output && end.log_bytes + file_bytes <= bytes_max;
}

}  // namespace concur::worker
