#include <unistd.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "cli/command_line.h"
#include "cli/online_commands.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/render.h"
#include "cli/sweep_files.h"
#include "cli/watch.h"
#include "rpc/convert_sweep.h"
#include "spec/sweep_yaml.h"

namespace concur::cli {
namespace {

struct SubmitCommandFlags {
  SubmitFlags submit;
  bool watch = false;
  bool wait = false;
};

std::string RandomRequestId() {
  std::random_device device;
  return absl::StrFormat("cli-%08x%08x%08x%08x", device(), device(), device(), device());
}

// The sweep's data files by digest, each once.
std::map<Digest, DataFile> FilesOf(const SweepSpec& spec) {
  std::map<Digest, DataFile> files;
  for (const BenchmarkSpec& benchmark : spec.benchmarks) {
    for (const std::optional<DataFile>* file : {&benchmark.train, &benchmark.test}) {
      if (file->has_value()) {
        files.emplace((*file)->digest, **file);
      }
    }
  }
  return files;
}

absl::Status UploadMissing(CommandContext& context, Client& client, const SweepSpec& spec) {
  const std::map<Digest, DataFile> files = FilesOf(spec);
  std::vector<Digest> digests;
  digests.reserve(files.size());
  for (const auto& [digest, file] : files) {
    digests.push_back(digest);
  }
  CONCUR_ASSIGN_OR_RETURN(const std::vector<Digest> missing, client.FindMissingArtifacts(digests));
  const bool bar = context.err_is_terminal && !IsJson(context);
  const bool unicode = LocaleIsUtf8();
  for (const Digest& digest : missing) {
    const auto it = files.find(digest);
    if (it == files.end()) {
      return absl::InternalError("the server asked for data that this sweep does not have");
    }
    const DataFile& file = it->second;
    absl::Time last = absl::InfinitePast();
    const absl::Status status = client.UploadFile(file.path, digest, [&](int64_t sent) {
      if (bar && (sent == file.bytes || absl::Now() - last > absl::Milliseconds(100))) {
        last = absl::Now();
        context.err << "\r\x1b[2K"
                    << BytesBar(file.path, sent, file.bytes, TerminalWidth(STDERR_FILENO), unicode)
                    << std::flush;
      }
    });
    if (bar) {
      context.err << "\r\x1b[2K" << std::flush;
    }
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat(file.path, ": upload: ", status.message()));
    }
    PrintNote(context, absl::StrCat("uploaded ", file.path, " (", BytesText(file.bytes), ")"));
  }
  return absl::OkStatus();
}

absl::Status Submit(CommandContext& context, const SubmitCommandFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  CONCUR_ASSIGN_OR_RETURN(const v1::CreateSweepResponse response,
                          SubmitSweep(context, *client, flags.submit));
  const std::vector<std::string> warnings(response.warnings().begin(), response.warnings().end());
  if (flags.submit.dry_run || (!flags.watch && !flags.wait)) {
    PrintSweep(context, response.sweep(), warnings);
    if (!flags.submit.dry_run) {
      PrintNote(context, absl::StrCat("watch it: concur sweep watch ", response.sweep().id()));
    }
    return absl::OkStatus();
  }
  PrintNote(context, SubmittedText(response.sweep()));
  WatchOptions options;
  options.quiet = !flags.watch;
  options.print_events = flags.watch && context.output == OutputMode::kJsonLines;
  CONCUR_ASSIGN_OR_RETURN(const v1::Sweep sweep,
                          FollowSweep(context, *client, response.sweep().id(), options));
  if (!options.print_events) {
    PrintSweep(context, sweep, warnings);
  }
  ReportEnd(context, sweep);
  return absl::OkStatus();
}

// Whether the server says what is wrong with a field that stands in a file.
bool IsOfAField(const absl::Status& status) {
  return absl::IsInvalidArgument(status) && (absl::StartsWith(status.message(), "approaches[") ||
                                             absl::StartsWith(status.message(), "benchmarks["));
}

}  // namespace

absl::StatusOr<v1::CreateSweepResponse> SubmitSweep(CommandContext& context, Client& client,
                                                    const SubmitFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const auto variables, ParseVariables(flags.variables));
  CONCUR_ASSIGN_OR_RETURN(spec::LoadedSweep loaded, spec::LoadSweep(flags.file, variables));
  for (const std::string& warning : loaded.warnings) {
    PrintWarning(context, warning);
  }
  CONCUR_RETURN_IF_ERROR(spec::ResolveDataFiles(&loaded));
  v1::CreateSweepRequest request;
  *request.mutable_spec() = rpc::ToProto(loaded.spec);
  // The server checks the same; here the error comes before any upload.
  CONCUR_RETURN_IF_ERROR(spec::WithPlace(loaded, rpc::FromProto(request.spec()).status()));
  request.set_request_id(flags.request_id.empty() ? RandomRequestId() : flags.request_id);
  request.set_validate_only(flags.dry_run);
  if (!flags.dry_run) {
    CONCUR_RETURN_IF_ERROR(UploadMissing(context, client, loaded.spec));
  }
  absl::StatusOr<v1::CreateSweepResponse> response = client.CreateSweep(request);
  if (IsOfAField(response.status())) {
    return spec::WithPlace(loaded, response.status());
  }
  CONCUR_RETURN_IF_ERROR(response.status());
  for (const std::string& warning : response->warnings()) {
    PrintWarning(context, warning);
  }
  return response;
}

std::string SubmittedText(const v1::Sweep& sweep) {
  const uint64_t jobs = JobCount(sweep.counts());
  std::string text = absl::StrCat(
      sweep.id(), " ", sweep.name(), ": ", CountText(jobs), jobs == 1 ? " job in " : " jobs in ",
      CountText(sweep.cell_count()), sweep.cell_count() == 1 ? " cell" : " cells");
  if (sweep.reused() > 0) {
    absl::StrAppend(&text, "; ", sweep.reused() == jobs ? "all" : CountText(sweep.reused()),
                    " of them reuse a finished result, nothing of which runs again");
  }
  return text;
}

void AddSubmitCommand(Command& sweep, CommandContext& context) {
  Command* command = sweep.AddSubcommand("submit", "Submit a sweep file");
  const auto flags = std::make_shared<SubmitCommandFlags>();
  command->AddOption("file", flags->submit.file, "A sweep file (kind: Sweep)")
      ->TypeName("FILE")
      ->Required();
  command->AddOption("--var", flags->submit.variables, "Sets a variable of the file")
      ->TypeName("NAME=VALUE")
      ->OneValueEach();
  command->AddFlag("-w,--watch", flags->watch, "Live progress until it has ended; then as --wait");
  command->AddFlag("--wait", flags->wait, "Wait for the end; exit 5 unless all jobs succeeded");
  command
      ->AddOption("--request-id", flags->submit.request_id,
                  "The same id submits once, however often it is sent (default: random)")
      ->TypeName("ID");
  command->AddFlag("--dry-run", flags->submit.dry_run,
                   "Let the server check it, and submit nothing");
  command->Footer(
      "Examples:\n"
      "  concur sweep submit configs/sweeps/demo.yaml --watch\n"
      "  concur sweep submit study.yaml --var data=/data/squad --wait && concur scores study");
  OnRun(command, context, [flags, &context] { return Submit(context, *flags); });
}

}  // namespace concur::cli
