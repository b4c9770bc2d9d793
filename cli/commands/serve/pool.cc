// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/command/command.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "cli/client/client.h"
#include "cli/commands/commands.h"
#include "cli/output/print.h"
#include "cli/output/render.h"
#include "concur/v1/coordinator.pb.h"
#include "proto/rpc/convert_pool.h"
#include "yaml/pools_yaml.h"

namespace concur::cli {
namespace {

struct PoolFlags {
  std::string pool;
  std::string file;
  std::string reason;
  bool at_once = false;
  bool dry_run = false;
};

std::string StateOf(const v1::Pool& pool) {
  if (pool.paused()) {
    return "paused";
  }
  if (pool.failures() > 0) {
    return "failing";
  }
  return pool.wanted() > pool.spec().workers_max() ? "full" : "open";
}

std::string RangeText(const v1::Pool& pool) {
  return absl::StrCat(pool.spec().workers_min(), "-", pool.spec().workers_max());
}

absl::Status ListPools(CommandContext& context, const PoolFlags&) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  CONCUR_ASSIGN_OR_RETURN(const v1::ListPoolsResponse listed, client->ListPools());
  Listing listing(context,
                  {{"NAME"},
                   {"PROVIDER"},
                   {"STATE"},
                   {"RESOURCES"},
                   {"WORKERS", true},
                   {"WORKING", true},
                   {"STARTING", true},
                   {"PENDING", true},
                   {"DRAINING", true},
                   {"WANTED", true}},
                  PoolJson(v1::Pool()), "No pools. Add one: concur pool add FILE");
  for (const v1::Pool& pool : listed.pools()) {
    listing.Add(
        {pool.spec().name(), ProviderText(pool.spec().provider()), StateOf(pool),
         ResourcesText(pool.spec().resources()), RangeText(pool), absl::StrCat(pool.working()),
         absl::StrCat(pool.starting()), absl::StrCat(pool.pending()), absl::StrCat(pool.draining()),
         absl::StrCat(pool.wanted())},
        PoolJson(pool));
  }
  listing.Print();
  return absl::OkStatus();
}

void PrintPool(CommandContext& context, const v1::Pool& pool) {
  std::vector<std::pair<std::string, std::string>> lines = {
      {"name", pool.spec().name()},
      {"provider", ProviderText(pool.spec().provider())},
      {"state", StateOf(pool)},
      {"resources", ResourcesText(pool.spec().resources())},
      {"workers", RangeText(pool)},
      {"time limit",
       pool.spec().has_time_limit() ? SpanText(SpanOf(pool.spec().time_limit())) : ""},
      {"idle timeout", SpanText(SpanOf(pool.spec().idle_timeout()))},
      {"working", absl::StrCat(pool.working())},
      {"starting", absl::StrCat(pool.starting())},
      {"pending", absl::StrCat(pool.pending())},
      {"draining", absl::StrCat(pool.draining())},
      {"wanted", absl::StrCat(pool.wanted())},
      {"paused", pool.pause_reason()},
      {"last failure", LineText(pool.last_failure())}};
  for (const v1::Pilot& pilot : pool.pilots()) {
    if (pilot.phase() != v1::Pilot::PHASE_GONE) {
      lines.emplace_back(
          pilot.name(),
          absl::StrCat(PhaseText(pilot.phase()), pilot.image().empty() ? "" : " in ",
                       LineText(pilot.image()), pilot.external_id().empty() ? "" : ", ",
                       pilot.external_id(), pilot.message().empty() ? "" : ": ",
                       LineText(pilot.message(), 200)));
    }
  }
  PrintDetails(context, lines, PoolJson(pool));
}

// NotFound for an unknown pool, with a suggestion of the name that was probably meant.
absl::Status Suggest(Client& client, const std::string& name, const absl::Status& status) {
  if (!absl::IsNotFound(status)) {
    return status;
  }
  std::vector<std::string> names;
  if (const auto listed = client.ListPools(); listed.ok()) {
    for (const v1::Pool& pool : listed->pools()) {
      names.push_back(pool.spec().name());
    }
  }
  return absl::NotFoundError(absl::StrCat(status.message(), DidYouMean(name, names)));
}

absl::Status PrintOr(CommandContext& context, Client& client, const std::string& name,
                     const absl::StatusOr<v1::Pool>& pool) {
  if (!pool.ok()) {
    return Suggest(client, name, pool.status());
  }
  PrintPool(context, *pool);
  return absl::OkStatus();
}

absl::Status GetPool(CommandContext& context, const PoolFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  return PrintOr(context, *client, flags.pool, client->GetPool(flags.pool));
}

// Explains the pool's present decisions, and how its latest workers ended.
absl::Status ExplainPool(CommandContext& context, const PoolFlags& flags) {
  constexpr int kEndedShown = 5;
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  const absl::StatusOr<v1::Pool> pool = client->GetPool(flags.pool);
  if (!pool.ok()) {
    return Suggest(*client, flags.pool, pool.status());
  }
  if (context.output != OutputMode::kTable) {
    PrintDetails(context, {}, PoolJson(*pool));
    return absl::OkStatus();
  }
  for (const std::string& line : pool->explanation()) {
    context.out << LineText(line) << "\n";
  }
  std::vector<v1::Pilot> ended;
  for (const v1::Pilot& pilot : pool->pilots()) {
    if (pilot.phase() == v1::Pilot::PHASE_GONE) {
      ended.push_back(pilot);
    }
  }
  std::stable_sort(ended.begin(), ended.end(), [](const v1::Pilot& a, const v1::Pilot& b) {
    return TimeOf(a.phase_time()) > TimeOf(b.phase_time());
  });
  for (size_t i = 0; i < ended.size() && i < kEndedShown; ++i) {
    context.out << ended[i].name() << " ended at " << FormatIsoTime(TimeOf(ended[i].phase_time()))
                << ": " << LineText(ended[i].message()) << "\n";
  }
  return absl::OkStatus();
}

absl::Status Add(CommandContext& context, const PoolFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const PoolSpec spec, spec::LoadPool(flags.file));
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  v1::CreatePoolRequest request;
  *request.mutable_spec() = rpc::ToProto(spec);
  request.set_validate_only(true);
  const absl::StatusOr<v1::Pool> tried = client->Call<v1::Pool>(request);
  if (flags.dry_run) {
    CONCUR_RETURN_IF_ERROR(tried.status());
    for (const std::string& line : tried->explanation()) {
      PrintNote(context, absl::StrCat(spec.name, ": ", LineText(line), "; nothing was added"));
    }
    return absl::OkStatus();
  }
  request.set_validate_only(false);
  CONCUR_ASSIGN_OR_RETURN(const v1::Pool pool, client->Call<v1::Pool>(request));
  if (absl::IsFailedPrecondition(tried.status())) {
    // It is added all the same: a provider that is down comes back, a limit can be raised.
    PrintWarning(context,
                 absl::StrCat("pool ", spec.name, " was added, but cannot start workers now: ",
                              tried.status().message()));
  }
  PrintPool(context, pool);
  return absl::OkStatus();
}

absl::Status PausePool(CommandContext& context, const PoolFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  v1::PausePoolRequest request;
  request.set_pool(flags.pool);
  request.set_reason(flags.reason);
  return PrintOr(context, *client, flags.pool, client->Call<v1::Pool>(request));
}

absl::Status Resume(CommandContext& context, const PoolFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  v1::ResumePoolRequest request;
  request.set_pool(flags.pool);
  return PrintOr(context, *client, flags.pool, client->Call<v1::Pool>(request));
}

absl::Status Remove(CommandContext& context, const PoolFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  v1::DeletePoolRequest request;
  request.set_pool(flags.pool);
  request.set_at_once(flags.at_once);
  const absl::Status status = client->CallOnce<v1::DeletePoolResponse>(request).status();
  if (!status.ok()) {
    return Suggest(*client, flags.pool, status);
  }
  PrintNote(context, absl::StrCat("pool ", flags.pool, " is removed ",
                                  flags.at_once ? "when its workers have stopped"
                                                : "when its workers have finished their jobs"));
  return absl::OkStatus();
}

Command* AddPool(Command* group, CommandContext& context, const std::string& name,
                 const std::string& about, const std::shared_ptr<PoolFlags>& flags,
                 absl::Status (*work)(CommandContext&, const PoolFlags&)) {
  Command* command = group->AddSubcommand(name, about);
  command->AddOption("pool", flags->pool, "A pool's name")->TypeName("POOL")->Required();
  command->Footer(absl::StrCat("Examples:\n  concur pool ", name, " slurm"));
  OnRun(command, context, [flags, &context, work] { return work(context, *flags); });
  return command;
}

}  // namespace

void AddPoolCommands(Command& app, CommandContext& context) {
  Command* group =
      app.AddSubcommand("pool", "Let workers come and go: local, Slurm, Kubernetes, …");
  group->RequireSubcommand();
  Command* list = group->AddSubcommand("list", "Pools, by name");
  list->Footer("Examples:\n  concur pool list");
  OnRun(list, context, [&context] { return ListPools(context, PoolFlags()); });
  AddPool(group, context, "get", "One pool and its workers", std::make_shared<PoolFlags>(),
          GetPool);
  AddPool(group, context, "explain", "Why a pool has the workers it has: queues, refusals, limits",
          std::make_shared<PoolFlags>(), ExplainPool);
  const auto add_flags = std::make_shared<PoolFlags>();
  Command* add = group->AddSubcommand("add", "Add a pool from a file of kind Pool");
  add->AddOption("file", add_flags->file, "YAML file (docs/options.md)")
      ->TypeName("FILE")
      ->Required();
  add->AddFlag("--dry-run", add_flags->dry_run,
               "Add nothing: ask the provider whether it would start such workers");
  add->Footer(
      "Examples:\n  concur pool add --dry-run configs/pools/slurm.yaml\n"
      "  concur pool add configs/pools/slurm.yaml");
  OnRun(add, context, [add_flags, &context] { return Add(context, *add_flags); });
  const auto pause_flags = std::make_shared<PoolFlags>();
  Command* pause =
      AddPool(group, context, "pause", "Start no more workers; those that are there go on",
              pause_flags, PausePool);
  pause->Footer("Examples:\n  concur pool pause slurm --reason \"maintenance until noon\"");
  pause->AddOption("--reason", pause_flags->reason, "Shown by `concur pool explain`")
      ->TypeName("TEXT");
  AddPool(group, context, "resume", "Start workers again, and forget failures",
          std::make_shared<PoolFlags>(), Resume);
  const auto remove_flags = std::make_shared<PoolFlags>();
  Command* remove =
      AddPool(group, context, "remove", "Let its workers finish what they run, then forget it",
              remove_flags, Remove);
  remove->Footer("Examples:\n  concur pool remove slurm\n  concur pool remove slurm --now");
  remove->AddFlag("--now", remove_flags->at_once,
                  "Stop its workers; what they run goes back to the queue");
}

}  // namespace concur::cli
