// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep/submit.h"

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "cli/output/estimate.h"
#include "cli/output/print.h"
#include "cli/output/progress.h"
#include "cli/output/render.h"
#include "cli/sweep/check_data.h"
#include "cli/sweep/found_programs.h"
#include "cli/sweep/made_files.h"
#include "cli/sweep/packed_code.h"
#include "cli/sweep/rerun.h"
#include "cli/sweep/same_work.h"
#include "core/sweep/expansion.h"
#include "core/sweep/sweep.h"
#include "proto/rpc/convert_sweep.h"
#include "proto/rpc/progress.h"
#include "report/text.h"
#include "yaml/sweep_yaml.h"

namespace concur::cli {
namespace {

std::string RandomRequestId() {
  std::random_device device;
  return absl::StrFormat("cli-%08x%08x%08x%08x", device(), device(), device(), device());
}

absl::Status UploadMissing(CommandContext& context, Client& client,
                           const spec::LoadedSweep& loaded) {
  std::map<Digest, SweepFile> files;
  std::vector<Digest> digests;
  for (SweepFile& file : FilesOf(loaded.spec)) {
    digests.push_back(file.digest);
    files.emplace(file.digest, std::move(file));
  }
  CONCUR_ASSIGN_OR_RETURN(const std::vector<Digest> missing, client.FindMissingArtifacts(digests));
  // Where the data are: of what was cut from a train file, `name` says where that is.
  std::map<Digest, std::string> paths;
  for (const spec::LoadedSweep::FileUse& file : loaded.files) {
    const BenchmarkSpec& benchmark = loaded.spec.benchmarks[file.benchmark];
    paths[(file.is_train ? benchmark.train : benchmark.test)->digest] = file.use.path;
  }
  for (const ApproachSpec& approach : loaded.spec.approaches) {
    if (approach.environment) {
      paths[approach.environment->digest] = approach.environment->path;
    }
  }
  const bool bar = context.err_is_terminal && !IsJson(context);
  const bool unicode = LocaleIsUtf8();
  int64_t bytes = 0;
  for (const Digest& digest : missing) {
    const auto it = files.find(digest);
    if (it == files.end()) {
      return absl::InternalError("the server asked for data that this sweep does not have");
    }
    const SweepFile& file = it->second;
    TemporaryFile packed;
    if (file.is_code) {
      CONCUR_ASSIGN_OR_RETURN(packed, PackCodeOf(loaded, digest));
    }
    absl::Time last = absl::InfinitePast();
    const std::string& path = file.is_code ? packed.path() : paths.at(digest);
    const absl::Status status = client.UploadFile(path, digest, [&](int64_t sent) {
      if (bar && (sent == file.bytes || absl::Now() - last > absl::Milliseconds(100))) {
        last = absl::Now();
        context.err << "\r\x1b[2K"
                    << BytesBar(file.name, sent, file.bytes, TerminalWidth(STDERR_FILENO), unicode)
                    << std::flush;
      }
    });
    if (bar) {
      context.err << "\r\x1b[2K" << std::flush;
    }
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat(file.name, ": upload: ", status.message()));
    }
    bytes += file.bytes;
  }
  if (!missing.empty()) {
    PrintNote(context, absl::StrCat("uploaded ", analysis::Counted(missing.size(), "file"), " (",
                                    BytesText(bytes), ")"));
  }
  return absl::OkStatus();
}

// True if the server's error is about a field of an approach or benchmark, which stands in a file.
bool IsOfAField(const absl::Status& status) {
  return absl::IsInvalidArgument(status) && (absl::StartsWith(status.message(), "approaches[") ||
                                             absl::StartsWith(status.message(), "benchmarks["));
}

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> ParseVariables(
    const std::vector<std::string>& flags) {
  std::map<std::string, std::string> variables;
  for (const std::string& flag : flags) {
    const size_t equals = flag.find('=');
    if (equals == std::string::npos || equals == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("--var: expected NAME=VALUE, got \"", flag, "\""));
    }
    if (!variables.emplace(flag.substr(0, equals), flag.substr(equals + 1)).second) {
      return absl::InvalidArgumentError(absl::StrCat("--var: expected each variable once, got \"",
                                                     flag.substr(0, equals), "\" again"));
    }
  }
  return variables;
}

absl::StatusOr<spec::LoadedSweep> LoadForSubmission(CommandContext& context,
                                                    const SubmitFlags& flags, MadeFiles* made) {
  CONCUR_ASSIGN_OR_RETURN(const auto variables, ParseVariables(flags.variables));
  CONCUR_ASSIGN_OR_RETURN(spec::LoadedSweep loaded, spec::LoadSweep(flags.file, variables));
  CONCUR_RETURN_IF_ERROR(spec::ResolveEnvironments(&loaded));
  PrintWarnings(context, loaded.left_out);
  PrintWarnings(context, loaded.warnings);
  if (!flags.rerun.empty()) {
    CONCUR_RETURN_IF_ERROR(MarkReruns(flags.rerun, &loaded.spec));
  }
  CONCUR_RETURN_IF_ERROR(spec::ResolveCode(&loaded));
  if (flags.request_id.empty() && !flags.once) {
    std::error_code error;
    loaded.spec.path = std::filesystem::absolute(flags.file, error).lexically_normal().string();
  } else {
    // A repeated request must be equal, wherever the program that makes it has put its files.
    for (ApproachSpec& approach : loaded.spec.approaches) {
      for (std::optional<Code>* code : {&approach.code, &approach.predict_code}) {
        if (code->has_value()) {
          (*code)->root.clear();
        }
      }
    }
  }
  const std::string path = SearchPath();
  DigestPrograms(path, &loaded);
  PrintWarnings(context, WarnOfProgramsInNoCode(loaded, path, /*programs_too=*/true));
  CONCUR_ASSIGN_OR_RETURN(*made, MakeFiles(&loaded));
  CONCUR_RETURN_IF_ERROR(spec::ResolveDataFiles(&loaded));
  if (!flags.no_check) {
    CONCUR_RETURN_IF_ERROR(CheckDataSets(loaded));
  }
  // The server checks the same; here the error comes before any upload.
  const absl::StatusOr<Expansion> expansion = Expansion::Make(loaded.spec);
  CONCUR_RETURN_IF_ERROR(spec::WithPlace(loaded, expansion.status()));
  PrintWarnings(context, WarnOfSameWork(*expansion));
  return loaded;
}

absl::StatusOr<v1::CreateSweepResponse> SubmitLoaded(CommandContext& context, Client& client,
                                                     const spec::LoadedSweep& loaded,
                                                     const std::string& request_id, bool dry_run) {
  v1::CreateSweepRequest request;
  *request.mutable_spec() = rpc::ToProto(loaded.spec);
  request.set_request_id(request_id.empty() ? RandomRequestId() : request_id);
  request.set_validate_only(dry_run);
  if (!dry_run) {
    CONCUR_RETURN_IF_ERROR(UploadMissing(context, client, loaded));
  }
  absl::StatusOr<v1::CreateSweepResponse> response =
      client.Call<v1::CreateSweepResponse>(request, kSubmitTimeout);
  if (IsOfAField(response.status())) {
    return spec::WithPlace(loaded, response.status());
  }
  CONCUR_RETURN_IF_ERROR(response.status());
  PrintWarnings(context, {response->warnings().begin(), response->warnings().end()});
  return response;
}

absl::StatusOr<v1::CreateSweepResponse> SubmitSweep(CommandContext& context, Client& client,
                                                    const SubmitFlags& flags) {
  MadeFiles made;
  CONCUR_ASSIGN_OR_RETURN(const spec::LoadedSweep loaded, LoadForSubmission(context, flags, &made));
  const std::string request_id =
      flags.once ? absl::StrCat("once-", Sha256Of(rpc::EncodeSpec(loaded.spec)).ToHex())
                 : flags.request_id;
  return SubmitLoaded(context, client, loaded, request_id, flags.dry_run);
}

std::string SubmittedText(const v1::Sweep& sweep) {
  const uint64_t jobs = rpc::ProgressOf(sweep).jobs();
  std::string text = absl::StrCat(
      sweep.id(), " ", sweep.name(), ": ", CountText(jobs), jobs == 1 ? " job in " : " jobs in ",
      CountText(sweep.cell_count()), sweep.cell_count() == 1 ? " cell" : " cells");
  if (sweep.reused() > 0) {
    absl::StrAppend(&text, "; finished results are reused for ",
                    sweep.reused() == jobs ? "all" : CountText(sweep.reused()), " of them");
    if (sweep.trials() > 0 && sweep.reused() < jobs) {
      absl::StrAppend(&text, "; its search may try other settings than before (--once submits ",
                      "nothing twice)");
    }
  }
  return text;
}

}  // namespace concur::cli
