// SPDX-License-Identifier: Apache-2.0
#include "cli/programs/concur_annotate/trained_system.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "archive/directory_tar.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "cli/client/client.h"
#include "concur/v1/resources.pb.h"
#include "core/command_template.h"
#include "core/ids.h"
#include "spec/approach_yaml.h"

namespace concur::cli {
namespace {

constexpr int64_t kSystemBytesMax = int64_t{4} << 30;

// Of a file, or of the tar that a train job would have made of a folder.
absl::StatusOr<Digest> DigestOfSystem(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    CONCUR_ASSIGN_OR_RETURN(const FileDigest file, DigestFile(path));
    return file.digest;
  }
  Sha256 hash;
  CONCUR_RETURN_IF_ERROR(WriteDirectoryTar(path, [&hash](absl::string_view piece) {
    hash.Update(piece);
    return absl::OkStatus();
  }));
  return hash.Finish();
}

// Where the bytes of an artifact lie as {model}; a folder appears only when it is complete.
absl::StatusOr<std::string> Unpack(const std::string& directory, const Digest& digest,
                                   const std::string& bytes) {
  const std::string file = absl::StrCat(directory, "/", digest.ToHex());
  CONCUR_RETURN_IF_ERROR(WriteFileAtomically(file + ".artifact", bytes, 0600));
  CONCUR_ASSIGN_OR_RETURN(const bool is_tar, IsDirectoryTar(file + ".artifact"));
  std::error_code error;
  if (is_tar) {
    const std::string unfinished = file + ".unfinished";
    std::filesystem::remove_all(unfinished, error);
    CONCUR_RETURN_IF_ERROR(
        ExtractDirectoryTar(file + ".artifact", unfinished, {.bytes_max = kSystemBytesMax}));
    std::filesystem::rename(unfinished, file, error);
    std::error_code ignored;
    std::filesystem::remove(file + ".artifact", ignored);
  } else {
    std::filesystem::rename(file + ".artifact", file, error);
  }
  return error ? absl::StatusOr<std::string>(
                     absl::UnknownError(absl::StrCat(file, ": ", error.message())))
               : file;
}

absl::StatusOr<Digest> SystemOfJob(const v1::Job& job) {
  for (const v1::Artifact& artifact : job.result().artifacts()) {
    if (artifact.kind() == v1::Artifact::KIND_SYSTEM) {
      return Digest::FromBytes(artifact.digest());
    }
  }
  return absl::FailedPreconditionError(
      absl::StrCat("--system: ", job.id(),
                   " has no trained system: expected a train job that succeeded; concur "
                   "job list SWEEP shows them"));
}

// Fetches the job's system, unless it was before.
absl::StatusOr<std::pair<Digest, std::string>> FetchSystem(const AnnotateFlags& flags,
                                                           const std::string& approach,
                                                           CommandContext& context) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  CONCUR_ASSIGN_OR_RETURN(const v1::Job job, client->GetJob(flags.system, /*include_steps=*/false));
  if (job.approach() != approach) {
    return absl::FailedPreconditionError(absl::StrCat("--approach: ", flags.approach, " is of ",
                                                      approach, ", but ", flags.system, " trained ",
                                                      job.approach()));
  }
  CONCUR_ASSIGN_OR_RETURN(const Digest digest, SystemOfJob(job));
  const std::string directory = flags.directory + "/systems";
  const std::string path = absl::StrCat(directory, "/", digest.ToHex());
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    // It may have been written in part when the power failed, or changed since.
    if (const absl::StatusOr<Digest> found = DigestOfSystem(path); found.ok() && *found == digest) {
      return std::make_pair(digest, path);
    }
    std::filesystem::remove_all(path, error);
  }
  CONCUR_RETURN_IF_ERROR(MakeDirectories(directory, 0700));
  CONCUR_ASSIGN_OR_RETURN(const std::string bytes,
                          client->DownloadArtifact(digest, kSystemBytesMax));
  CONCUR_ASSIGN_OR_RETURN(const std::string unpacked, Unpack(directory, digest, bytes));
  return std::make_pair(digest, unpacked);
}

}  // namespace

absl::StatusOr<TrainedSystem> FindTrainedSystem(const AnnotateFlags& flags,
                                                CommandContext& context) {
  TrainedSystem system;
  if (flags.system == "none") {
    return system;
  }
  if (flags.system.empty()) {
    return absl::InvalidArgumentError(
        "--system: expected a train job such as s1/12, a path, or none: who is to answer?");
  }
  if (flags.approach.empty()) {
    return absl::InvalidArgumentError(
        "--approach: expected the file of the system's approach, which says how it is served");
  }
  CONCUR_ASSIGN_OR_RETURN(const spec::ServedApproach served,
                          spec::LoadServedApproach(flags.approach));
  std::string model = flags.system;
  Digest digest;
  if (JobId::Parse(flags.system).ok()) {
    CONCUR_ASSIGN_OR_RETURN(const auto fetched, FetchSystem(flags, served.name, context));
    digest = fetched.first;
    model = fetched.second;
  } else {
    CONCUR_ASSIGN_OR_RETURN(digest, DigestOfSystem(model));
  }
  std::error_code error;
  system.digest = digest.ToHex();
  const std::string directory = std::filesystem::absolute(flags.directory, error).string();
  system.options.directory = directory + "/run";  // what it writes is no part of the room
  CONCUR_RETURN_IF_ERROR(MakeDirectories(system.options.directory, 0700));
  std::map<std::string, std::string> values = {
      {"model", std::filesystem::absolute(model, error).string()}};
  if (!served.code.empty()) {
    values["code"] = std::filesystem::absolute(served.code, error).string();
  }
  CONCUR_ASSIGN_OR_RETURN(system.options.command, ExpandCommand(served.command, values));
  for (const auto& [name, value] : served.env) {
    system.options.env.push_back(absl::StrCat(name, "=", value));
  }
  system.options.log = directory + "/system.log";
  system.options.answer_max = absl::Seconds(flags.answer_seconds);
  return system;
}

}  // namespace concur::cli
