// `check`, `backup` and `restore`.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "coordinator/admin_commands.h"
#include "coordinator/data_directory.h"

namespace concur {
namespace {

std::string Counted(int64_t count, absl::string_view what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

// Findings go to standard output, a line each; DataLoss when there are any.
absl::Status Tell(const DataReport& report, absl::string_view done) {
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
  return Tell(report, "sound");
}

absl::Status BackUp(const std::string& to, const DataPlace& place) {
  CONCUR_ASSIGN_OR_RETURN(const DataReport report, BackUpDataDirectory(place, to));
  return Tell(report, absl::StrCat("copied to ", to));
}

absl::Status Restore(const std::string& from, const DataPlace& place) {
  CONCUR_ASSIGN_OR_RETURN(const DataReport report, RestoreDataDirectory(from, place));
  return Tell(report, absl::StrCat("restored to ", place.directory));
}

using Copying = absl::Status (*)(const std::string& other, const DataPlace& place);

CLI::App* AddCopying(CLI::App& app, AdminWork* work, const std::string& name,
                     const std::string& about, const std::string& operand, Copying copying) {
  CLI::App* command = app.add_subcommand(name, about);
  const auto other = std::make_shared<std::string>();
  command->add_option("directory", *other, operand)->type_name("DIR")->required();
  command->callback([other, work, copying] {
    *work = [other, copying](const DataPlace& place) { return copying(*other, place); };
  });
  return command;
}

}  // namespace

void AddDataCommands(CLI::App& app, AdminWork* work) {
  app.add_subcommand("check", "Verify every row of the database and every artifact")
      ->footer(
          "Names what is damaged or missing, a line each, and then exits with 1. May run while "
          "the\ncoordinator does. Damaged artifacts are set aside, under damaged/.")
      ->callback([work] { *work = Check; });
  AddCopying(app, work, "backup", "Copy the data directory, consistently, to a new directory",
             "where to; must not exist", BackUp)
      ->footer(
          "May run while the coordinator does. Certificates, keys and the audit log are not "
          "copied.");
  AddCopying(app, work, "restore", "Put a backup in the place of an empty data directory",
             "what `backup` made", Restore)
      ->footer("Replaces nothing: a data directory that holds a database is refused.");
}

}  // namespace concur
