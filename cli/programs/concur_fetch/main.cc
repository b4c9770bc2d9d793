// SPDX-License-Identifier: Apache-2.0
// concur-fetch: does the work of `concur data fetch`, with the same command line.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/command/command.h"
#include "base/digest.h"
#include "base/fetch/download.h"
#include "base/fetch/transport.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "cli/app/companion.h"
#include "cli/commands/data/data_fetch.h"
#include "cli/output/print.h"
#include "cli/output/table_output.h"
#include "cli/programs/run_command_line.h"
#include "report/table.h"
#include "yaml/catalogue_yaml.h"

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
  analysis::Table table = ListTable({{"name"},
                                     {.name = "files", .is_number = true, .drop = 2},
                                     {.name = "licence", .drop = 1},
                                     {.name = "what", .wraps = true}});
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

// --- what was fetched ----------------------------------------------------------------------------

// Beside files of which the catalogue has no digest lies this one, with a line for each: the digest
// with which it first came ("-" until it is complete), its address, its name.
constexpr char kRecord[] = "FETCHED";
constexpr size_t kRecordBytesMax = size_t{1} << 20;

struct Recorded {
  std::optional<Digest> digest;
  std::string url;
};
using Record = std::map<std::string, Recorded>;  // by file name

absl::StatusOr<Record> ReadRecord(const std::string& directory) {
  const std::string path = absl::StrCat(directory, "/", kRecord);
  const absl::StatusOr<std::string> text = ReadFile(path, kRecordBytesMax);
  if (absl::IsNotFound(text.status())) {
    return Record();
  }
  CONCUR_RETURN_IF_ERROR(text.status());
  Record record;
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    ++number;
    if (line.empty()) {
      continue;
    }
    const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(' ', 2));
    const absl::StatusOr<Digest> digest = Digest::FromHex(parts[0]);
    if (parts.size() != 3 || parts[2].empty() || (!digest.ok() && parts[0] != "-")) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":", number, ": expected a SHA-256 digest or \"-\", an address and a ",
                       "file's name; remove the line and the file that it was of"));
    }
    record[std::string(parts[2])] = {digest.ok() ? std::make_optional(*digest) : std::nullopt,
                                     std::string(parts[1])};
  }
  return record;
}

// Changes one file's line, and leaves those that other processes have written since.
absl::Status WriteRecord(const std::string& directory, const std::string& name,
                         const Recorded& recorded) {
  CONCUR_RETURN_IF_ERROR(MakeDirectories(directory));
  CONCUR_ASSIGN_OR_RETURN(Record record, ReadRecord(directory));
  record[name] = recorded;
  std::string text;
  for (const auto& [file, line] : record) {
    absl::StrAppend(&text, line.digest ? line.digest->ToHex() : "-", " ", line.url, " ", file,
                    "\n");
  }
  return WriteFileAtomically(absl::StrCat(directory, "/", kRecord), text);
}

// --- one source ----------------------------------------------------------------------------------

// Checks that an entry's files may be had in such a revision.
absl::Status CheckRevision(const std::string& revision, const spec::DataSource& source) {
  if (source.revision.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--revision: ", source.name, " has no revisions"));
  }
  if (!spec::IsRevision(revision)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--revision: expected a commit, tag or branch of letters, digits and \".\", \"_\", \"-\", ",
        "\"/\", got \"", revision, "\""));
  }
  for (const spec::DataSourceFile& file : source.files) {
    if (file.sha256.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--revision: the catalogue has digests of ", source.name, " for revision ",
                       source.revision, " alone; copy its entry without them, and name the copy's ",
                       "folder with --catalogue"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<spec::DataSource> FindSource(const FetchOptions& options) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(options.catalogue));
  if (std::find(names.begin(), names.end(), options.name) == names.end()) {
    return absl::NotFoundError(absl::StrCat("no data source \"", options.name, "\" in ",
                                            options.catalogue, DidYouMean(options.name, names),
                                            "; there are ", absl::StrJoin(names, ", ")));
  }
  CONCUR_ASSIGN_OR_RETURN(spec::DataSource source,
                          spec::LoadDataSource(options.catalogue + "/" + options.name + ".yaml"));
  if (!options.revision.empty() && options.revision != source.revision) {
    CONCUR_RETURN_IF_ERROR(CheckRevision(options.revision, source));
    source.revision = options.revision;
  }
  for (spec::DataSourceFile& file : source.files) {
    absl::StrReplaceAll({{spec::kRevision, source.revision}}, &file.url);
  }
  return source;
}

struct Fetched {
  std::string outcome;
  int64_t bytes = 0;
  Digest sha256;
  std::string verified;
};

absl::StatusOr<Fetched> FoundHere(const std::string& path, const std::string& verified) {
  CONCUR_ASSIGN_OR_RETURN(const FileDigest here, DigestFile(path));
  return Fetched{"was here", here.bytes, here.digest, verified};
}

absl::StatusOr<Fetched> Downloaded(fetch::Transport& transport, const spec::DataSourceFile& file,
                                   const std::string& path, const std::string& verified,
                                   CommandContext& context) {
  CONCUR_ASSIGN_OR_RETURN(const fetch::Download download, Fetch(transport, file, path, context));
  return Fetched{std::string(NameOf(download.outcome)), download.bytes, download.sha256, verified};
}

// A file of which the catalogue has no digest: the first one that came from its address counts.
absl::StatusOr<Fetched> FetchRecorded(fetch::Transport& transport, spec::DataSourceFile file,
                                      const std::string& directory, CommandContext& context) {
  const std::string path = directory + "/" + file.name;
  const std::string remedy = absl::StrCat("remove it and its line in ", directory, "/", kRecord);
  CONCUR_ASSIGN_OR_RETURN(const Record record, ReadRecord(directory));
  const auto line = record.find(file.name);
  if (line != record.end() && line->second.url != file.url) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is from ", line->second.url, ", and ", file.url,
                     " was asked for: name another folder with --out, or ", remedy));
  }
  std::error_code ignored;
  if (line != record.end() && line->second.digest.has_value()) {
    file.sha256 = line->second.digest;
    if (std::filesystem::exists(path, ignored)) {
      CONCUR_ASSIGN_OR_RETURN(Fetched here, FoundHere(path, "as recorded"));
      if (here.sha256 != *file.sha256) {
        return absl::DataLossError(absl::StrCat(
            path, " has changed since it was fetched: remove it to fetch it again, or ", remedy,
            " to take another one"));
      }
      return here;
    }
    absl::StatusOr<Fetched> again = Downloaded(transport, file, path, "as recorded", context);
    if (absl::IsDataLoss(again.status())) {
      return absl::DataLossError(absl::StrCat(
          again.status().message(), "; ", directory, "/", kRecord,
          " has the digest with which it first came: remove its line to take this one"));
    }
    return again;
  }
  if (line == record.end()) {  // a half-fetched file is of this address
    CONCUR_RETURN_IF_ERROR(WriteRecord(directory, file.name, {std::nullopt, file.url}));
  }
  CONCUR_ASSIGN_OR_RETURN(Fetched fetched,
                          Downloaded(transport, file, path, "first seen: recorded", context));
  CONCUR_RETURN_IF_ERROR(WriteRecord(directory, file.name, {fetched.sha256, file.url}));
  return fetched;
}

absl::StatusOr<Fetched> FetchFile(fetch::Transport& transport, const spec::DataSource& source,
                                  const spec::DataSourceFile& file, const std::string& directory,
                                  CommandContext& context) {
  const std::string path = directory + "/" + file.name;
  if (file.url.empty()) {
    CONCUR_RETURN_IF_ERROR(CheckAskedFor(source, file, path));
    return FoundHere(path, "no digest is pinned");
  }
  return file.sha256.has_value() ? Downloaded(transport, file, path, "yes", context)
                                 : FetchRecorded(transport, file, directory, context);
}

absl::Status RunFetch(FetchOptions options, CommandContext& context) {
  if (options.catalogue.empty()) {
    CONCUR_ASSIGN_OR_RETURN(const std::string configs, ConfigsDirectory());
    options.catalogue = configs + "/data";
  }
  if (options.name.empty()) {
    return options.revision.empty()
               ? ListCatalogue(options, context)
               : absl::InvalidArgumentError("--revision: of which entry? give its name");
  }
  CONCUR_ASSIGN_OR_RETURN(const spec::DataSource source, FindSource(options));
  const std::string directory = options.out.empty() ? source.name : options.out;
  SystemClock clock;
  const std::unique_ptr<fetch::Transport> transport =
      fetch::MakeCurlTransport(clock, absl::Seconds(options.stall_seconds));
  analysis::Table table =
      ListTable({{"file"}, {"outcome"}, {"bytes", true}, {"sha256"}, {"verified"}});
  for (const spec::DataSourceFile& file : source.files) {
    CONCUR_ASSIGN_OR_RETURN(const Fetched fetched,
                            FetchFile(*transport, source, file, directory, context));
    table.rows.push_back({TextCell(directory + "/" + file.name), TextCell(fetched.outcome),
                          IntegerCell(fetched.bytes), TextCell(fetched.sha256.ToHex()),
                          TextCell(fetched.verified)});
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
