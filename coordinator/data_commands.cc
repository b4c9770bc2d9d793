// SPDX-License-Identifier: Apache-2.0
// `check`, `backup` and `restore`.
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/command/command.h"
#include "base/status_macros.h"
#include "coordinator/admin_commands.h"
#include "coordinator/data_directory.h"

namespace concur {
namespace {

std::string Counted(int64_t count, absl::string_view what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

// Findings go to standard output, a line each; DataLoss when there are any.
absl::Status PrintReport(const DataReport& report, absl::string_view done) {
  for (const std::string& finding : report.findings) {
    std::cout << finding << "\n";
  }
  std::cout.flush();
  std::cerr << done << ": " << Counted(report.sweeps, "sweep") << ", "
            << Counted(report.results, "result") << ", " << Counted(report.artifacts, "artifact")
            << " of " << Counted(report.artifact_bytes, "byte") << "\n";
  return report.findings.empty()
             ? absl::OkStatus()
             : absl::DataLossError(
                   absl::StrCat("damaged or missing: ", report.findings.size(), ", named above"));
}

absl::Status Check(const DataPlace& place) {
  CONCUR_ASSIGN_OR_RETURN(const DataReport report, CheckDataDirectory(place));
  return PrintReport(report, "sound");
}

absl::Status BackUp(const std::string& to, const DataPlace& place) {
  CONCUR_ASSIGN_OR_RETURN(const DataReport report, BackUpDataDirectory(place, to));
  return PrintReport(report, absl::StrCat("copied to ", to));
}

absl::Status Restore(const std::string& from, const DataPlace& place) {
  CONCUR_ASSIGN_OR_RETURN(const DataReport report, RestoreDataDirectory(from, place));
  return PrintReport(report, absl::StrCat("restored to ", place.directory));
}

using Copying = absl::Status (*)(const std::string& other, const DataPlace& place);

Command* AddCopying(Command& app, AdminWork* work, const std::string& name,
                    const std::string& about, const std::string& operand, Copying copying) {
  Command* command = app.AddSubcommand(name, about);
  const auto other = std::make_shared<std::string>();
  command->AddOption("directory", *other, operand)->TypeName("DIR")->Required();
  command->OnParsed([other, work, copying] {
    *work = [other, copying](const DataPlace& place) { return copying(*other, place); };
  });
  return command;
}

}  // namespace

void AddDataCommands(Command& app, AdminWork* work) {
  Command* check =
      app.AddSubcommand("check", "Verify every row of the database and every artifact");
  check->Footer(
      "Names what is damaged or missing, a line each, and then exits with 1. May run while the\n"
      "coordinator does. Damaged artifacts are set aside, under damaged/.");
  check->OnParsed([work] { *work = Check; });
  AddCopying(app, work, "backup", "Copy the data directory, consistently, to a new directory",
             "where to; must not exist", BackUp)
      ->Footer(
          "May run while the coordinator does. Certificates, keys and the audit log are not "
          "copied.");
  AddCopying(app, work, "restore", "Put a backup in the place of an empty data directory",
             "what `backup` made", Restore)
      ->Footer("Replaces nothing: a data directory that holds a database is refused.");
}

}  // namespace concur
