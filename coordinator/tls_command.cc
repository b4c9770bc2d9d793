// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "base/command/command.h"
#include "base/status_macros.h"
#include "coordinator/access/tls_files.h"
#include "coordinator/admin_commands.h"

namespace concur {
namespace {

struct TlsFlags {
  std::vector<std::string> hosts;
  std::string directory;
};

absl::Status Init(const TlsFlags& flags, const std::string& data_directory) {
  const std::string directory = flags.directory.empty() ? data_directory + "/tls" : flags.directory;
  CONCUR_RETURN_IF_ERROR(InitTls(directory, flags.hosts, absl::Now()));
  std::cout
      << "Certificates are in " << directory << ":\n"
      << "  server.pem, server.key   the coordinator's: --tls-certificate and --tls-key\n"
      << "  client.pem, client.key   for clients and workers, where --tls-client-ca asks for "
         "them: --certificate and --key\n"
      << "  ca.pem                   what clients and workers trust: --ca\n"
      << "  ca.key                   makes more of them: keep it secret, and off the network\n";
  return absl::OkStatus();
}

}  // namespace

void AddInitTlsCommand(Command& app, AdminWork* work) {
  Command* command = app.AddSubcommand(
      "init-tls", "Make a CA and the certificates of the coordinator and its clients");
  const auto flags = std::make_shared<TlsFlags>();
  command
      ->AddOption("--host", flags->hosts,
                  "name or IP address by which clients reach the coordinator, beside localhost; "
                  "repeatable")
      ->TypeName("HOST");
  command->AddOption("--out", flags->directory, "where to write them (default: DATA/tls)")
      ->TypeName("DIR");
  command->Footer(
      "Done again, it keeps the CA and renews the other certificates, which live for 825 days;\n"
      "start the coordinator again to show the new one.");
  command->OnParsed([flags, work] {
    *work = [flags](const DataPlace& place) { return Init(*flags, place.directory); };
  });
}

}  // namespace concur
