// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/command/command.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "cli/client/client.h"
#include "cli/commands/commands.h"
#include "cli/output/print.h"
#include "cli/output/render.h"
#include "concur/v1/coordinator.pb.h"
#include "core/resources.h"

namespace concur::cli {
namespace {

struct ResourceFlags {
  std::string name;
  int64_t amount = 0;
  int64_t per_minute = 0;
};

std::string AmountText(const v1::NamedResource& resource) {
  return resource.has_amount() ? CountText(resource.amount()) : "not set";
}

std::string RateText(const v1::NamedResource& resource) {
  return resource.per_minute() > 0 ? CountText(resource.per_minute()) : "-";
}

absl::Status ListResources(CommandContext& context) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  CONCUR_ASSIGN_OR_RETURN(const v1::ListResourcesResponse listed, client->ListResources());
  Listing listing(
      context,
      {{"NAME"}, {"AMOUNT", true}, {"IN USE", true}, {"WAITING", true}, {"PER MINUTE", true}},
      NamedResourceJson(v1::NamedResource()),
      "No named resources. Set one: concur resource set NAME N");
  for (const v1::NamedResource& resource : listed.resources()) {
    listing.Add({resource.name(), AmountText(resource), CountText(resource.in_use()),
                 CountText(resource.waiting()), RateText(resource)},
                NamedResourceJson(resource));
  }
  listing.Print();
  return absl::OkStatus();
}

absl::Status SetResource(CommandContext& context, const ResourceFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  v1::SetResourceRequest request;
  request.set_name(flags.name);
  request.set_amount(flags.amount);
  request.set_per_minute(flags.per_minute);
  CONCUR_ASSIGN_OR_RETURN(const v1::NamedResource resource,
                          client->Call<v1::NamedResource>(request));
  PrintDetails(context,
               {{"name", resource.name()},
                {"amount", AmountText(resource)},
                {"in use", CountText(resource.in_use())},
                {"waiting", CountText(resource.waiting())},
                {"per minute", RateText(resource)}},
               NamedResourceJson(resource));
  return absl::OkStatus();
}

absl::Status DeleteResource(CommandContext& context, const ResourceFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  v1::DeleteResourceRequest request;
  request.set_name(flags.name);
  absl::Status deleted = client->CallOnce<v1::DeleteResourceResponse>(request).status();
  if (!absl::IsNotFound(deleted)) {
    return deleted;
  }
  std::vector<std::string> names;
  if (const auto listed = client->ListResources(); listed.ok()) {
    for (const v1::NamedResource& resource : listed->resources()) {
      names.push_back(resource.name());
    }
  }
  return absl::NotFoundError(absl::StrCat(deleted.message(), DidYouMean(flags.name, names)));
}

}  // namespace

void AddResourceCommands(Command& app, CommandContext& context) {
  Command* group = app.AddSubcommand("resource", "Limit what jobs use at a time, on all workers");
  group->RequireSubcommand();
  Command* list = group->AddSubcommand("list", "Named resources, by name");
  list->Footer("Examples:\n  concur resource list\n  concur resource list -o json");
  OnRun(list, context, [&context] { return ListResources(context); });
  const auto flags = std::make_shared<ResourceFlags>();
  Command* set = group->AddSubcommand("set", "How many units there are, from now on");
  set->AddOption("name", flags->name, "Its name, as resources.uses has it")
      ->TypeName("NAME")
      ->Required();
  set->AddOption("amount", flags->amount, "Units that jobs may hold at a time")
      ->TypeName("N")
      ->InRange(int64_t{0}, kUnitsMax)
      ->Required();
  set->AddOption("--per-minute", flags->per_minute, "Jobs that use it and start in a minute")
      ->TypeName("N")
      ->InRange(int64_t{0}, kUnitsMax);
  set->Footer(
      "Examples:\n  concur resource set openai 16 --per-minute 3000\n  concur resource set openai "
      "0");
  OnRun(set, context, [flags, &context] { return SetResource(context, *flags); });
  Command* remove = group->AddSubcommand("delete", "Forget one that no unfinished sweep uses");
  remove->AddOption("name", flags->name, "Its name")->TypeName("NAME")->Required();
  remove->Footer("Examples:\n  concur resource delete openai");
  OnRun(remove, context, [flags, &context] { return DeleteResource(context, *flags); });
}

}  // namespace concur::cli
