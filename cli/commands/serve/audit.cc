// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/command/command.h"
#include "base/status_macros.h"
#include "cli/client/client.h"
#include "cli/commands/commands.h"
#include "cli/output/print.h"
#include "cli/output/render.h"
#include "concur/v1/coordinator.pb.h"

namespace concur::cli {
namespace {

struct AuditFlags {
  std::string user;
  std::string method;
  std::string target;
  bool failed = false;
  bool strangers = false;
  size_t limit = 100;
};

std::string TimeText(const v1::AuditEntry& entry) {
  return entry.has_time() ? FormatIsoTime(TimeOf(entry.time())) : "";
}

Json EntryJson(const v1::AuditEntry& entry) {
  Json json = Json::object();
  const auto text = [](const std::string& value) { return value.empty() ? Json() : Json(value); };
  json["time"] = text(TimeText(entry));
  json["user"] = text(entry.user());
  json["token"] = text(entry.token());
  json["certificate"] = text(entry.certificate());
  json["peer"] = text(entry.peer());
  json["method"] = text(entry.method());
  json["target"] = text(entry.target());
  json["outcome"] = entry.outcome();
  json["message"] = text(entry.message());
  return json;
}

absl::Status ListEntries(CommandContext& context, const AuditFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  v1::ListAuditEntriesRequest request;
  request.set_user(flags.user);
  request.set_method(flags.method);
  request.set_target(flags.target);
  request.set_failed_only(flags.failed);
  request.set_strangers(flags.strangers);
  // One more than is shown tells whether there are more.
  CONCUR_ASSIGN_OR_RETURN(
      std::vector<v1::AuditEntry> entries,
      client->ListAll(std::move(request), flags.limit == 0 ? 0 : flags.limit + 1,
                      &v1::ListAuditEntriesResponse::mutable_entries));
  const bool more = flags.limit != 0 && entries.size() > flags.limit;
  if (more) {
    entries.resize(flags.limit);
  }
  Listing listing(context,
                  {{"TIME"},
                   {.name = "USER", .width_max = 24},
                   {.name = "TOKEN", .drop = 2},
                   {.name = "PEER", .drop = 1, .width_max = 30},
                   {.name = "METHOD", .width_max = 24},
                   {.name = "TARGET", .width_max = 40},
                   {.name = "OUTCOME"},
                   {.name = "MESSAGE", .drop = 3, .wraps = true}},
                  EntryJson(v1::AuditEntry()), "No such calls.");
  for (const v1::AuditEntry& entry : entries) {
    listing.Add({TimeText(entry), entry.user(), entry.token(), entry.peer(), entry.method(),
                 entry.target(), entry.outcome(), entry.message()},
                EntryJson(entry));
  }
  listing.Print();
  if (more) {
    const std::string note = absl::StrCat("only the newest ", flags.limit,
                                          " are shown; more: --limit N   all: --limit 0");
    // A list in JSON does not say that it was cut.
    IsJson(context) ? PrintWarning(context, note) : PrintNote(context, note);
  }
  return absl::OkStatus();
}

}  // namespace

void AddAuditCommand(Command& app, CommandContext& context) {
  const auto flags = std::make_shared<AuditFlags>();
  Command* command =
      app.AddSubcommand("audit", "Who changed what, or who was refused, newest first; for admins");
  command->AddOption("--user", flags->user, "Only calls of this user")->TypeName("NAME");
  command->AddOption("--method", flags->method, "Only calls of this method, as the list names it")
      ->TypeName("NAME");
  command->AddOption("--target", flags->target, "Only calls on this sweep, job, worker or pool")
      ->TypeName("ID");
  command->AddFlag("--failed", flags->failed,
                   "Calls that were refused or failed, instead of those that were carried out");
  command->AddFlag("--strangers", flags->strangers,
                   "Calls without a valid token, instead of those with one");
  command->AddOption("--limit", flags->limit, "List at most this many; 0: all")
      ->ShowDefault()
      ->TypeName("N");
  command->Footer(
      "Examples:\n"
      "  concur audit --target s12\n"
      "  concur audit --user ada --failed -o jsonl\n"
      "  concur audit --strangers");
  OnRun(command, context, [flags, &context] { return ListEntries(context, *flags); });
}

}  // namespace concur::cli
