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
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/archive/directory_tar.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "cli/client/client.h"
#include "cli/output/print.h"
#include "cli/sweep/submit.h"
#include "concur/v1/resources.pb.h"
#include "core/ids.h"
#include "core/sweep/command_template.h"
#include "proto/rpc/credentials.h"
#include "studies/annotation/room.h"
#include "yaml/approach_yaml.h"
#include "yaml/value.h"

namespace concur::cli {
namespace {

constexpr int64_t kSystemBytesMax = int64_t{4} << 30;

// Digest of a file, or of the tar that a train job would have made of a folder.
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

// The system of the job, which must be one of this approach.
absl::StatusOr<Digest> FindSystemOfJob(const std::string& id, const std::string& file,
                                       const std::string& approach, Client& client) {
  CONCUR_ASSIGN_OR_RETURN(const v1::Job job, client.GetJob(id, /*include_steps=*/false));
  if (job.approach() != approach) {
    return absl::FailedPreconditionError(absl::StrCat("--approach: ", file, " is of ", approach,
                                                      ", but ", id, " trained ", job.approach()));
  }
  return SystemOfJob(job);
}

// Fetches it, unless it was before. Where it lies as {model}.
absl::StatusOr<std::string> FetchSystem(const AnnotateFlags& flags, const Digest& digest,
                                        Client& client) {
  const std::string directory = flags.directory + "/systems";
  const std::string path = absl::StrCat(directory, "/", digest.ToHex());
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    // It may have been written in part when the power failed, or changed since.
    if (const absl::StatusOr<Digest> found = DigestOfSystem(path); found.ok() && *found == digest) {
      return path;
    }
    std::filesystem::remove_all(path, error);
  }
  CONCUR_RETURN_IF_ERROR(MakeDirectories(directory, 0700));
  CONCUR_ASSIGN_OR_RETURN(const std::string bytes,
                          DownloadArtifact(client, digest, kSystemBytesMax));
  return Unpack(directory, digest, bytes);
}

// Absolute and without links: a sandbox shows it at the same place.
std::string Canonical(const std::string& path) {
  std::error_code error;
  return std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error).string();
}

// 0: no limit.
absl::StatusOr<int64_t> MemoryMax(const AnnotateFlags& flags, const spec::ServedApproach& served) {
  if (flags.memory.empty()) {
    return served.resources.memory_bytes > 0 ? served.resources.memory_bytes
                                             : annotation::SystemOptions().memory_bytes_max;
  }
  if (flags.memory == "0") {
    return 0;
  }
  const absl::StatusOr<int64_t> bytes = spec::ParseBytesText(flags.memory);
  return bytes.ok() ? bytes
                    : absl::InvalidArgumentError(
                          absl::StrCat("--memory: ", bytes.status().message(), ", or 0"));
}

// `place` is its number among the systems, from 1.
absl::StatusOr<TrainedSystem> FindTrainedSystem(const AnnotateFlags& flags, const std::string& name,
                                                const std::string& approach, size_t place,
                                                CommandContext& context) {
  TrainedSystem system;
  CONCUR_ASSIGN_OR_RETURN(const auto variables, ParseVariables(flags.variables));
  CONCUR_ASSIGN_OR_RETURN(const spec::ServedApproach served,
                          spec::LoadServedApproach(approach, variables));
  std::string model = name;
  Digest digest;
  if (JobId::Parse(name).ok()) {
    CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
    CONCUR_ASSIGN_OR_RETURN(digest, FindSystemOfJob(name, approach, served.name, *client));
    CONCUR_ASSIGN_OR_RETURN(model, FetchSystem(flags, digest, *client));
  } else {
    CONCUR_ASSIGN_OR_RETURN(digest, DigestOfSystem(model));
  }
  system.digest = digest.ToHex();
  CONCUR_ASSIGN_OR_RETURN(system.options.memory_bytes_max, MemoryMax(flags, served));
  annotation::VisibleFiles files;
  files.room = Canonical(flags.directory);
  const std::string suffix = place == 1 ? "" : absl::StrCat(place);
  system.options.log = absl::StrCat(files.room, "/system", suffix, ".log");
  system.options.answer_max = absl::Seconds(flags.answer_seconds);
  system.options.env = served.env;
  files.run = absl::StrCat(files.room, "/run", suffix);  // files there are no part of the room
  files.state = place == 1 ? files.room : absl::StrCat(files.room, "/system", place);
  for (const std::string& directory : {files.run, files.state}) {
    CONCUR_RETURN_IF_ERROR(MakeDirectories(directory, 0700));
  }
  system.options.directory = files.run;
  std::map<std::string, std::string> values = {{"model", Canonical(model)}};
  if (!served.code.empty()) {
    values["code"] = Canonical(served.code);
  }
  for (const auto& value : values) {
    files.read.push_back(value.second);
  }
  CONCUR_ASSIGN_OR_RETURN(system.options.command, ExpandCommand(served.command, values));
  // The token and the key of whoever runs this are not the system's.
  files.hidden = {context.credentials.token, context.credentials.key};
  for (const absl::string_view server : absl::StrSplit(context.server, ',')) {
    if (const auto found = rpc::LoadCredentials(server, context.credentials); found.ok()) {
      files.hidden.insert(files.hidden.end(), {found->token_file, found->key_file});
    }
  }
  CONCUR_ASSIGN_OR_RETURN(system.confinement, annotation::Confinement::SetUp(files, flags.sandbox));
  system.options.confinement = system.confinement.get();
  for (const std::string& note : system.confinement->notes()) {
    PrintNote(context, note);
  }
  return system;
}

}  // namespace

absl::StatusOr<std::vector<TrainedSystem>> FindTrainedSystems(const AnnotateFlags& flags,
                                                              CommandContext& context) {
  const size_t count = flags.systems.size();
  if (count == 0) {
    return absl::InvalidArgumentError(
        "--system: expected a train job such as s1/12, a path, or none: who is to answer?");
  }
  std::vector<TrainedSystem> systems;
  if (flags.systems == std::vector<std::string>{"none"}) {
    return systems;
  }
  if (count > annotation::kSystemsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("--system: expected at most ", annotation::kSystemsMax, ", got ", count));
  }
  if (flags.approaches.size() != 1 && flags.approaches.size() != count) {
    return absl::InvalidArgumentError(
        "--approach: expected the file of each system's approach, or one for all, whose field "
        "serve says how to run it");
  }
  for (size_t i = 0; i < count; ++i) {
    const std::string& approach = flags.approaches[flags.approaches.size() == 1 ? 0 : i];
    CONCUR_ASSIGN_OR_RETURN(TrainedSystem one,
                            FindTrainedSystem(flags, flags.systems[i], approach, i + 1, context));
    for (const TrainedSystem& other : systems) {
      if (other.digest == one.digest) {
        return absl::InvalidArgumentError(
            absl::StrCat("--system: ", flags.systems[i], " is another one's copy; leave it out"));
      }
    }
    systems.push_back(std::move(one));
  }
  return systems;
}

}  // namespace concur::cli
