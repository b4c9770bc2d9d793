// SPDX-License-Identifier: Apache-2.0
// concur-fetch: does the work of `concur data fetch`, with the same command line.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "analysis/table.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "cli/commands/data_fetch.h"
#include "cli/output/print.h"
#include "cli/output/table_output.h"
#include "cli/programs/run_command_line.h"
#include "command/command.h"
#include "fetch/download.h"
#include "fetch/transport.h"
#include "spec/catalogue_yaml.h"

namespace concur::cli {
namespace {

using analysis::IntegerCell;
using analysis::TextCell;

// The names of the catalogue's entries, sorted.
absl::StatusOr<std::vector<std::string>> NamesIn(const std::string& catalogue) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(catalogue, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() == ".yaml") {
      names.push_back(it->path().stem().string());
    }
  }
  if (error) {
    return absl::NotFoundError(absl::StrCat("--catalogue: ", catalogue, ": ", error.message()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

absl::Status ListCatalogue(const FetchOptions& options, CommandContext& context) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(options.catalogue));
  analysis::Table table = ListTable({{"name"}, {"files", true}, {"licence"}, {"what"}});
  for (const std::string& name : names) {
    CONCUR_ASSIGN_OR_RETURN(const spec::DataSource source,
                            spec::LoadDataSource(options.catalogue + "/" + name + ".yaml"));
    table.rows.push_back({TextCell(name), IntegerCell(static_cast<int64_t>(source.files.size())),
                          TextCell(source.licence), TextCell(source.description)});
  }
  PrintRows(table, context);
  return absl::OkStatus();
}

absl::string_view NameOf(fetch::DownloadOutcome outcome) {
  switch (outcome) {
    case fetch::DownloadOutcome::kPresent:
      return "was here";
    case fetch::DownloadOutcome::kFetched:
      return "fetched";
    case fetch::DownloadOutcome::kResumed:
      return "resumed";
  }
  return "";
}

// Downloads a file to `path`, with its progress on a terminal.
absl::StatusOr<fetch::Download> Fetch(fetch::Transport& transport, const spec::DataSourceFile& file,
                                      const std::string& path, CommandContext& context) {
  fetch::DownloadOptions options;
  if (context.err_is_terminal) {
    options.progress = [&](int64_t done, int64_t total) {
      context.err << "\rfetching " << file.name << ": " << done / 1000 << " kB"
                  << (total > 0 ? absl::StrCat(" of ", total / 1000, " kB") : "") << std::flush;
    };
  }
  options.on_retry = [&](const absl::Status& why, absl::Duration wait) {
    if (context.err_is_terminal) {
      context.err << "\r\033[K";
    }
    context.err << "concur: " << why.message() << "; trying again in " << absl::FormatDuration(wait)
                << "\n";
  };
  absl::StatusOr<fetch::Download> download =
      fetch::DownloadFile(transport, {file.url, file.sha256}, path, options);
  if (context.err_is_terminal) {
    context.err << "\r\033[K" << std::flush;
  }
  return download;
}

// A file that is not public: what to do where it is not at `path`.
absl::Status CheckAskedFor(const spec::DataSource& source, const spec::DataSourceFile& file,
                           const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat(path, " is not public; ask ", file.ask,
                   "; put the file there, then run: ", absl::StrJoin(source.import, "; ")));
}

absl::Status RunFetch(const FetchOptions& options, CommandContext& context) {
  if (options.name.empty()) {
    return ListCatalogue(options, context);
  }
  CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(options.catalogue));
  if (std::find(names.begin(), names.end(), options.name) == names.end()) {
    return absl::NotFoundError(absl::StrCat("no data source \"", options.name, "\" in ",
                                            options.catalogue, DidYouMean(options.name, names),
                                            "; there are ", absl::StrJoin(names, ", ")));
  }
  CONCUR_ASSIGN_OR_RETURN(const spec::DataSource source,
                          spec::LoadDataSource(options.catalogue + "/" + options.name + ".yaml"));
  const std::string directory = options.out.empty() ? source.name : options.out;
  SystemClock clock;
  const std::unique_ptr<fetch::Transport> transport =
      fetch::MakeCurlTransport(clock, absl::Seconds(options.stall_seconds));
  analysis::Table table =
      ListTable({{"file"}, {"outcome"}, {"bytes", true}, {"sha256"}, {"verified"}});
  for (const spec::DataSourceFile& file : source.files) {
    const std::string path = directory + "/" + file.name;
    if (file.url.empty()) {
      CONCUR_RETURN_IF_ERROR(CheckAskedFor(source, file, path));
      CONCUR_ASSIGN_OR_RETURN(const FileDigest here, DigestFile(path));
      table.rows.push_back({TextCell(path), TextCell("was here"), IntegerCell(here.bytes),
                            TextCell(here.digest.ToHex()), TextCell("no digest is pinned")});
      continue;
    }
    CONCUR_ASSIGN_OR_RETURN(const fetch::Download download, Fetch(*transport, file, path, context));
    table.rows.push_back({TextCell(path), TextCell(std::string(NameOf(download.outcome))),
                          IntegerCell(download.bytes), TextCell(download.sha256.ToHex()),
                          TextCell(file.sha256.has_value() ? "yes" : "no digest is pinned")});
  }
  PrintRows(table, context);
  if (context.output == OutputMode::kTable) {
    context.err << "licence: " << source.licence << "\n";
    for (const std::string& line : source.import) {
      context.err << "next: " << line << "\n";
    }
  }
  return absl::OkStatus();
}

int Run(const std::vector<std::string>& args, CommandContext& context) {
  return RunCommandLine(args, {"The part of concur that downloads: concur data fetch.", ""},
                        context, [](Command& app, CommandContext& command_context) {
                          Command* const data = app.AddSubcommand("data", "data sets");
                          data->RequireSubcommand();
                          AddFetchCommand(*data, command_context, RunFetch);
                        });
}

}  // namespace
}  // namespace concur::cli

int main(int argc, char** argv) { return concur::cli::RunAsProcess(argc, argv, concur::cli::Run); }
