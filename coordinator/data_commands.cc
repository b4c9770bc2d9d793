// SPDX-License-Identifier: Apache-2.0
// `check`, `backup`, `restore`, `migrate` and `ship`.
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/command/command.h"
#include "base/status_macros.h"
#include "coordinator/admin_commands.h"
#include "coordinator/data/data_directory.h"
#include "coordinator/data/migrate.h"
#include "coordinator/ship/shipment.h"
#include "coordinator/ship/shipper.h"

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

// The commands that copy concur.db.
absl::Status RequireFile(const DataPlace& place) {
  return place.database.empty()
             ? CheckDatabasePlace(place)
             : absl::FailedPreconditionError(
                   "the rows are in PostgreSQL, which is backed up by its own means, such as "
                   "pg_dump --schema=concur: docs/operations.md says how");
}

absl::Status BackUp(const std::string& to, const DataPlace& place) {
  CONCUR_RETURN_IF_ERROR(RequireFile(place));
  CONCUR_ASSIGN_OR_RETURN(const DataReport report, BackUpDataDirectory(place, to));
  return PrintReport(report, absl::StrCat("copied to ", to));
}

std::string Variable(const char* name, const std::string& otherwise = "") {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread as yet
  return value == nullptr || *value == '\0' ? otherwise : value;
}

// Object storage for `ship`, by the variables that other programs read, too. Main may have taken
// the keys for the artifacts of the options.
s3::Options S3OfEnvironment(const DataPlace& place) {
  s3::Options options;
  options.part_bytes = int64_t{32} << 20;  // at most 10,000 parts: artifacts of up to 300 GiB
  options.region = Variable("AWS_REGION", Variable("AWS_DEFAULT_REGION", options.region));
  options.endpoint =
      Variable("AWS_ENDPOINT_URL", absl::StrCat("https://s3.", options.region, ".amazonaws.com"));
  options.ca_file = Variable("AWS_CA_BUNDLE");
  options.credentials_file = Variable("AWS_SHARED_CREDENTIALS_FILE");
  options.credentials = {Variable("AWS_ACCESS_KEY_ID"), Variable("AWS_SECRET_ACCESS_KEY"),
                         Variable("AWS_SESSION_TOKEN")};
  if (options.credentials.access_key.empty() && place.s3.has_value()) {
    options.credentials = place.s3->credentials;
  }
  return options;
}

absl::StatusOr<ShipPlace> OpenPlace(Clock& clock, const std::string& to, const DataPlace& place,
                                    bool claims) {
  s3::Options s3 = S3OfEnvironment(place);
  if (IsObjectStorage(to) && s3.credentials_file.empty() &&
      (s3.credentials.access_key.empty() || s3.credentials.secret_key.empty())) {
    return absl::InvalidArgumentError(
        absl::StrCat(to,
                     ": set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
                     "AWS_SHARED_CREDENTIALS_FILE, and AWS_ENDPOINT_URL unless it is Amazon's"));
  }
  return OpenShipPlace(clock, to, std::move(s3), claims);
}

absl::Status Ship(const std::string& to, const DataPlace& place) {
  CONCUR_RETURN_IF_ERROR(RequireFile(place));
  // The last shipment stays whole wherever this ends.
  for (const int end : {SIGINT, SIGTERM}) {
    signal(end, [](int) { _exit(0); });
  }
  signal(SIGPIPE, SIG_IGN);
  umask(077);
  setpriority(PRIO_PROCESS, 0, 10);  // the coordinator goes first
  SystemClock clock;
  CONCUR_ASSIGN_OR_RETURN(const ShipPlace target, OpenPlace(clock, to, place, /*claims=*/true));
  return ShipForever(clock, place, target);
}

absl::Status Restore(const std::string& from, const DataPlace& place) {
  CONCUR_RETURN_IF_ERROR(RequireFile(place));
  if (IsObjectStorage(from) || access((from + "/shipment").c_str(), F_OK) == 0) {
    SystemClock clock;
    CONCUR_ASSIGN_OR_RETURN(const ShipPlace source,
                            OpenPlace(clock, from, place, /*claims=*/false));
    absl::Time time;
    CONCUR_ASSIGN_OR_RETURN(const DataReport report, RestoreShipment(source, place, &time));
    return PrintReport(report, absl::StrCat("restored to ", place.directory, ", as shipped at ",
                                            FormatIsoTime(time)));
  }
  CONCUR_ASSIGN_OR_RETURN(const DataReport report, RestoreDataDirectory(from, place));
  return PrintReport(report, absl::StrCat("restored to ", place.directory));
}

absl::Status Migrate(const std::string& from, const std::string& to) {
  CONCUR_ASSIGN_OR_RETURN(const DataReport report, MigrateDatabase(from, to));
  return PrintReport(report, "migrated");
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
             "what `backup` or `ship` made: a directory or s3://BUCKET/PREFIX", Restore)
      ->Footer("Replaces nothing: a data directory that holds a database is refused.");
  Command* migrate =
      app.AddSubcommand("migrate", "Take the rows of a data directory to PostgreSQL, or back");
  const auto places = std::make_shared<std::pair<std::string, std::string>>();
  migrate->AddOption("--from", places->first, "a data directory, or postgresql://…")
      ->TypeName("PLACE")
      ->Required();
  migrate->AddOption("--to", places->second, "postgresql://…, or a data directory")
      ->TypeName("PLACE")
      ->Required();
  migrate->Footer(
      "No coordinator may run on either. Every row is compared with its copy. Artifacts and "
      "tokens\n"
      "stay in the data directory, whose concur.db is renamed to concur.db.migrated.");
  migrate->OnParsed([places, work] {
    *work = [places](const DataPlace&) { return Migrate(places->first, places->second); };
  });
  Command* ship = app.AddSubcommand(
      "ship", "Copy the data directory as it changes, within seconds, until it is ended");
  const auto to = std::make_shared<std::string>();
  ship->AddOption("--to", *to, "a directory of another disk, or s3://BUCKET/PREFIX")
      ->TypeName("PLACE")
      ->Required();
  ship->Footer(
      "Runs beside the coordinator, whose /metrics shows what is not there yet. `restore PLACE`\n"
      "brings it back. Certificates, keys, secrets and the audit log are not copied. s3:// reads\n"
      "AWS_ENDPOINT_URL, AWS_REGION, AWS_CA_BUNDLE, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,\n"
      "AWS_SESSION_TOKEN or AWS_SHARED_CREDENTIALS_FILE.");
  ship->OnParsed([to, work] { *work = [to](const DataPlace& place) { return Ship(*to, place); }; });
}

}  // namespace concur
