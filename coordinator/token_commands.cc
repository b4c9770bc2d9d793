#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "coordinator/admin_commands.h"
#include "coordinator/tokens.h"
#include "spec/value.h"

namespace concur {
namespace {

struct CreateFlags {
  std::string user;
  std::string role;
  std::string expires_in = "8760h";
  std::string out;
};

std::string TimeText(absl::Time time) {
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
  CONCUR_RETURN_IF_ERROR(MakeDirectories(data_directory, 0700));
  CONCUR_ASSIGN_OR_RETURN(const NewToken made,
                          CreateToken(data_directory, flags.user, role, expire_time, now));
  std::cerr << "token " << made.record.id << " of " << flags.user << ", role " << flags.role
            << ", expires " << TimeText(expire_time)
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
  size_t width = 4;
  for (const TokenRecord& record : tokens) {
    width = std::max(width, record.user.size());
  }
  const auto row = [width](absl::string_view id, absl::string_view user, absl::string_view role,
                           absl::string_view state, absl::string_view created,
                           absl::string_view expires) {
    std::cout << absl::StrFormat("%-6s  %-*s  %-9s  %-7s  %-20s  %s\n", id, static_cast<int>(width),
                                 user, role, state, created, expires);
  };
  row("ID", "USER", "ROLE", "STATE", "CREATED", "EXPIRES");
  for (const TokenRecord& record : tokens) {
    row(record.id, record.user, RoleName(record.role), record.StateAt(now),
        TimeText(record.create_time), TimeText(record.expire_time));
  }
  return absl::OkStatus();
}

absl::Status Revoke(const std::string& id, const std::string& data_directory) {
  CONCUR_ASSIGN_OR_RETURN(const TokenRecord record, RevokeToken(data_directory, id, absl::Now()));
  std::cerr << "token " << record.id << " of " << record.user << " is "
            << record.StateAt(absl::Now()) << "\n";
  return absl::OkStatus();
}

}  // namespace

void AddTokenCommands(CLI::App& app, AdminWork* work) {
  CLI::App* token = app.add_subcommand("token", "Who may call: create, list and revoke tokens");
  token->require_subcommand(1);
  token->footer(
      "Works while the coordinator runs, which heeds a change from its next call on.\n"
      "Only the hash of a token is kept: one that is lost is revoked, and another made.");

  CLI::App* create = token->add_subcommand("create", "Make a token and show it, once");
  const auto flags = std::make_shared<CreateFlags>();
  create->add_option("--user", flags->user, "whose it is: the owner of sweeps submitted with it")
      ->required();
  create
      ->add_option("--role", flags->role,
                   "viewer (sees everything), submitter (also submits, and changes sweeps of the "
                   "user), worker (only runs jobs), admin (everything)")
      ->required();
  create->add_option("--expires-in", flags->expires_in, "e.g. 720h; \"never\" for no end")
      ->capture_default_str();
  create->add_option("--out", flags->out, "write it to this file, mode 0600, instead of showing it")
      ->type_name("FILE");
  create->callback([flags, work] {
    *work = [flags](const DataPlace& place) { return Create(*flags, place.directory); };
  });

  token->add_subcommand("list", "Tokens, whose they are and until when; never the tokens")
      ->callback([work] { *work = List; });

  CLI::App* revoke = token->add_subcommand("revoke", "End a token now");
  const auto id = std::make_shared<std::string>();
  revoke->add_option("id", *id, "as `token list` shows it, e.g. t3")->required();
  revoke->callback([id, work] {
    *work = [id](const DataPlace& place) { return Revoke(*id, place.directory); };
  });
}

}  // namespace concur
