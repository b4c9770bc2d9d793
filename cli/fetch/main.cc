// concur-fetch: what `concur data fetch` runs, with the command line of that.
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
#include "base/clock.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "cli/command_line.h"
#include "cli/command_program.h"
#include "cli/fetch_commands.h"
#include "cli/records.h"
#include "fetch/download.h"
#include "fetch/transport.h"
#include "spec/catalogue_yaml.h"

namespace concur::cli {
namespace {

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
  Records records{{{"name"}, {"files", true}, {"licence"}, {"what"}}, {}};
  for (const std::string& name : names) {
    CONCUR_ASSIGN_OR_RETURN(const spec::DataSource source,
                            spec::LoadDataSource(options.catalogue + "/" + name + ".yaml"));
    records.rows.push_back(
        {name, absl::StrCat(source.files.size()), source.licence, source.description});
  }
  Print(records, context);
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
  Records records{{{"file"}, {"outcome"}, {"bytes", true}, {"sha256"}, {"verified"}}, {}};
  for (const spec::DataSourceFile& file : source.files) {
    fetch::DownloadOptions download_options;
    if (context.err_is_terminal) {
      download_options.progress = [&](int64_t done, int64_t total) {
        context.err << "\rfetching " << file.name << ": " << done / 1000 << " kB"
                    << (total > 0 ? absl::StrCat(" of ", total / 1000, " kB") : "") << std::flush;
      };
    }
    download_options.on_retry = [&](const absl::Status& why, absl::Duration wait) {
      if (context.err_is_terminal) {
        context.err << "\r\033[K";
      }
      context.err << "concur: " << why.message() << "; trying again in "
                  << absl::FormatDuration(wait) << "\n";
    };
    const std::string path = directory + "/" + file.name;
    const absl::StatusOr<fetch::Download> download =
        fetch::DownloadFile(*transport, {file.url, file.sha256}, path, download_options);
    if (context.err_is_terminal) {
      context.err << "\r\033[K" << std::flush;
    }
    CONCUR_RETURN_IF_ERROR(download.status());
    records.rows.push_back({path, std::string(NameOf(download->outcome)),
                            absl::StrCat(download->bytes), download->sha256.ToHex(),
                            file.sha256.has_value() ? "yes" : "no digest is pinned"});
  }
  Print(records, context);
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
