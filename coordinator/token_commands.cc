// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/command/command.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "coordinator/access/tokens.h"
#include "coordinator/admin_commands.h"
#include "coordinator/data/data_place.h"
#include "report/table.h"
#include "yaml/value.h"

namespace concur {
namespace {

using analysis::TextCell;

struct CreateFlags {
  std::string user;
  std::string role;
  std::string expires_in = "8760h";
  std::string out;
};

std::string TokenTime(absl::Time time) {
  return time == absl::InfiniteFuture()
             ? "never"
             : absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

absl::Status Create(const CreateFlags& flags, const std::string& data_directory) {
  CONCUR_ASSIGN_OR_RETURN(const Role role, RoleFromName(flags.role));
  const absl::Time now = absl::Now();
  absl::Time expire_time = absl::InfiniteFuture();
  if (flags.expires_in != "never") {
    const absl::StatusOr<absl::Duration> span = spec::ParseDurationText(flags.expires_in);
    if (!span.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--expires-in: ", span.status().message(), ", or \"never\""));
    }
    expire_time = now + *span;
  }
  CONCUR_RETURN_IF_ERROR(MakeDataDirectory(data_directory));
  CONCUR_ASSIGN_OR_RETURN(const NewToken made,
                          CreateToken(data_directory, flags.user, role, expire_time, now));
  std::cerr << "token " << made.record.id << " of " << flags.user << ", role " << flags.role
            << ", expires " << TokenTime(expire_time)
            << (flags.out.empty() ? "; it is shown this once:\n" : "\n");
  if (!flags.out.empty()) {
    return WriteFileAtomically(flags.out, absl::StrCat(made.token, "\n"), 0600);
  }
  std::cout << made.token << std::endl;
  return absl::OkStatus();
}

absl::Status List(const DataPlace& place) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<TokenRecord> tokens, LoadTokens(place.directory));
  const absl::Time now = absl::Now();
  analysis::Table table;
  for (const char* head : {"ID", "USER", "ROLE", "STATE", "CREATED", "EXPIRES"}) {
    table.columns.push_back({head, head});
  }
  for (const TokenRecord& record : tokens) {
    table.rows.push_back(
        {TextCell(record.id), TextCell(record.user), TextCell(std::string(RoleName(record.role))),
         TextCell(std::string(record.StateAt(now))), TextCell(TokenTime(record.create_time)),
         TextCell(TokenTime(record.expire_time))});
  }
  std::cout << WriteTable(table, analysis::TableFormat::kText);
  return absl::OkStatus();
}

absl::Status Revoke(const std::string& id, const std::string& data_directory) {
  CONCUR_ASSIGN_OR_RETURN(const TokenRecord record, RevokeToken(data_directory, id, absl::Now()));
  std::cerr << "token " << record.id << " of " << record.user << " is "
            << record.StateAt(absl::Now()) << "\n";
  return absl::OkStatus();
}

}  // namespace

void AddTokenCommands(Command& app, AdminWork* work) {
  Command* token = app.AddSubcommand("token", "Who may call: create, list and revoke tokens");
  token->RequireSubcommand();
  token->Footer(
      "Works while the coordinator runs, which heeds a change from its next call on.\n"
      "Only the hash of a token is kept: one that is lost is revoked, and another made.");

  Command* create = token->AddSubcommand("create", "Make a token and show it, once");
  const auto flags = std::make_shared<CreateFlags>();
  create->AddOption("--user", flags->user, "whose it is: the owner of sweeps submitted with it")
      ->Required();
  create
      ->AddOption("--role", flags->role,
                  "viewer (sees everything), submitter (also submits, and changes sweeps of the "
                  "user), worker (only runs jobs), admin (everything)")
      ->Required();
  create->AddOption("--expires-in", flags->expires_in, "e.g. 720h; \"never\" for no end")
      ->ShowDefault();
  create->AddOption("--out", flags->out, "write it to this file, mode 0600, instead of showing it")
      ->TypeName("FILE");
  create->OnParsed([flags, work] {
    *work = [flags](const DataPlace& place) { return Create(*flags, place.directory); };
  });

  token->AddSubcommand("list", "Tokens, whose they are and until when; never the tokens")
      ->OnParsed([work] { *work = List; });

  Command* revoke = token->AddSubcommand("revoke", "End a token now");
  const auto id = std::make_shared<std::string>();
  revoke->AddOption("id", *id, "as `token list` shows it, e.g. t3")->Required();
  revoke->OnParsed([id, work] {
    *work = [id](const DataPlace& place) { return Revoke(*id, place.directory); };
  });
}

}  // namespace concur
