// SPDX-License-Identifier: Apache-2.0
// `concur bundle load`: results that were computed elsewhere, as an ended sweep of a coordinator.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/command/command.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "cli/client/client.h"
#include "cli/commands/commands.h"
#include "cli/output/print.h"
#include "cli/study/bundle.h"
#include "cli/study/bundle_files.h"
#include "cli/study/imported_study.h"
#include "cli/study/study.h"
#include "concur/v1/coordinator.pb.h"

namespace concur::cli {
namespace {

struct LoadFlags {
  std::string bundle;
  std::string name;
  std::string request_id;
};

// Uploads the per-example scores that the coordinator lacks.
absl::Status UploadExamples(Client& client, const Study& study, const std::string& directory) {
  std::vector<Digest> digests;
  for (const v1::Job& job : study.jobs) {
    if (const std::optional<Digest> digest = ExamplesOf(job)) {
      digests.push_back(*digest);
    }
  }
  CONCUR_ASSIGN_OR_RETURN(const std::vector<Digest> missing, client.FindMissingArtifacts(digests));
  for (const Digest& digest : missing) {
    CONCUR_RETURN_IF_ERROR(client.UploadFile(absl::StrCat(directory, "/", ExamplesPath(digest)),
                                             digest, [](int64_t) {}));
  }
  return absl::OkStatus();
}

absl::Status RunLoad(const LoadFlags& flags, CommandContext& context) {
  const std::string directory(absl::StripSuffix(flags.bundle, "/"));
  CONCUR_ASSIGN_OR_RETURN(const Study study, LoadBundle(directory));
  if (!study.imported()) {
    return absl::InvalidArgumentError(absl::StrCat(
        directory, ": is a sweep that Concur ran; expected a bundle of concur bundle convert"));
  }
  CONCUR_ASSIGN_OR_RETURN(v1::ImportSweepRequest request, ImportRequestOf(study));
  if (!flags.name.empty()) {
    request.mutable_spec()->set_name(flags.name);
  }
  // The same bundle under the same name is imported once.
  Sha256 content;
  content.UpdateField(request.spec().name());
  content.UpdateField(study.sources);
  for (const v1::Job& job : study.jobs) {
    content.UpdateField(job.SerializeAsString());
  }
  request.set_request_id(flags.request_id.empty()
                             ? absl::StrCat("import-", content.Finish().ToHex())
                             : flags.request_id);
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  CONCUR_RETURN_IF_ERROR(UploadExamples(*client, study, directory));
  CONCUR_ASSIGN_OR_RETURN(const v1::CreateSweepResponse response,
                          client->Call<v1::CreateSweepResponse>(request, kSubmitTimeout));
  PrintSweep(context, response.sweep());
  PrintNote(context, absl::StrCat("look at it: concur matrix ", response.sweep().id()));
  return absl::OkStatus();
}

}  // namespace

void AddBundleLoadCommand(Command& bundle, CommandContext& context) {
  Command* const command = bundle.AddSubcommand(
      "load", "Put the results of `concur bundle convert` into the coordinator, as an ended sweep");
  const auto flags = std::make_shared<LoadFlags>();
  command
      ->AddOption("bundle", flags->bundle, "The directory that `concur bundle convert --out` made")
      ->TypeName("DIR")
      ->Required();
  command->AddOption("--name", flags->name, "The sweep's name (default: the bundle's)");
  command
      ->AddOption("--request-id", flags->request_id,
                  "The same id imports once, however often it is sent (default: from the bundle)")
      ->TypeName("ID");
  command->Footer(
      "Nothing runs: scores keep what the bundle says of their source, which `concur job explain` "
      "and\n`concur scores --by-job -o json` show. No job that runs takes an imported result.\n"
      "Examples:\n  concur bundle load ./bbh   # what concur bundle convert --out ./bbh made\n"
      "  concur bundle load ./bbh --name big-bench");
  OnRun(command, context, [flags, &context] { return RunLoad(*flags, context); });
}

}  // namespace concur::cli
