// SPDX-License-Identifier: Apache-2.0
// concur-fetch: does the work of `concur data fetch`, with the same command line.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
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
#include "analysis/table.h"
#include "base/clock.h"
#include "base/digest.h"
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

// --- SHA256SUMS ----------------------------------------------------------------------------------

constexpr char kSums[] = "SHA256SUMS";
constexpr size_t kSumsBytesMax = size_t{1} << 20;
constexpr char kBetween[] = "  ";  // digest and name, as sha256sum has it

using Sums = std::map<std::string, Digest>;  // by file name

// What earlier calls have recorded in `directory`.
absl::StatusOr<Sums> ReadSums(const std::string& directory) {
  const std::string path = absl::StrCat(directory, "/", kSums);
  const absl::StatusOr<std::string> text = ReadFile(path, kSumsBytesMax);
  if (absl::IsNotFound(text.status())) {
    return Sums();
  }
  CONCUR_RETURN_IF_ERROR(text.status());
  Sums sums;
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    ++number;
    if (line.empty()) {
      continue;
    }
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(kBetween, 1));
    const absl::StatusOr<Digest> digest = Digest::FromHex(parts.first);
    if (!digest.ok() || parts.second.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":", number, ": expected a SHA-256 digest, two spaces and a file's ",
                       "name; remove the line to take the file as it comes"));
    }
    sums[std::string(parts.second)] = *digest;
  }
  return sums;
}

absl::Status WriteSums(const std::string& directory, const Sums& sums) {
  std::string text;
  for (const auto& [name, digest] : sums) {
    absl::StrAppend(&text, digest.ToHex(), kBetween, name, "\n");
  }
  return WriteFileAtomically(absl::StrCat(directory, "/", kSums), text);
}

// --- one source ----------------------------------------------------------------------------------

absl::StatusOr<spec::DataSource> FindSource(const FetchOptions& options) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(options.catalogue));
  if (std::find(names.begin(), names.end(), options.name) == names.end()) {
    return absl::NotFoundError(absl::StrCat("no data source \"", options.name, "\" in ",
                                            options.catalogue, DidYouMean(options.name, names),
                                            "; there are ", absl::StrJoin(names, ", ")));
  }
  CONCUR_ASSIGN_OR_RETURN(spec::DataSource source,
                          spec::LoadDataSource(options.catalogue + "/" + options.name + ".yaml"));
  if (!options.revision.empty()) {
    if (source.revision.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--revision: ", source.name, " has no revisions"));
    }
    if (!spec::IsRevision(options.revision)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--revision: expected 1 to 100 letters, digits, dots, dashes, underscores ",
                       "and slashes, got \"", options.revision, "\""));
    }
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
};

// One file, which must have the digest that the catalogue or else `sums` says.
absl::StatusOr<Fetched> FetchFile(fetch::Transport& transport, const spec::DataSource& source,
                                  spec::DataSourceFile file, const std::string& directory,
                                  const Sums& sums, CommandContext& context) {
  const std::string path = directory + "/" + file.name;
  const auto recorded = sums.find(file.name);
  const bool by_record = !file.sha256.has_value() && recorded != sums.end();
  if (by_record) {
    file.sha256 = recorded->second;
  }
  const auto explained = [&](absl::Status status) {
    return by_record && absl::IsDataLoss(status)
               ? absl::Status(status.code(),
                              absl::StrCat(status.message(), "; ", directory, "/", kSums,
                                           " has the digest with which it first came: remove its ",
                                           "line to take another file"))
               : status;
  };
  if (file.url.empty()) {
    CONCUR_RETURN_IF_ERROR(CheckAskedFor(source, file, path));
    CONCUR_ASSIGN_OR_RETURN(const FileDigest here, DigestFile(path));
    if (file.sha256.has_value() && here.digest != *file.sha256) {
      return explained(
          absl::DataLossError(absl::StrCat(path, ": expected a file of SHA-256 ",
                                           file.sha256->ToHex(), ", got ", here.digest.ToHex())));
    }
    return Fetched{"was here", here.bytes, here.digest};
  }
  const absl::StatusOr<fetch::Download> download = Fetch(transport, file, path, context);
  if (!download.ok()) {
    return explained(download.status());
  }
  return Fetched{std::string(NameOf(download->outcome)), download->bytes, download->sha256};
}

absl::Status RunFetch(const FetchOptions& options, CommandContext& context) {
  if (options.name.empty()) {
    return ListCatalogue(options, context);
  }
  CONCUR_ASSIGN_OR_RETURN(const spec::DataSource source, FindSource(options));
  const std::string directory = options.out.empty() ? source.name : options.out;
  SystemClock clock;
  const std::unique_ptr<fetch::Transport> transport =
      fetch::MakeCurlTransport(clock, absl::Seconds(options.stall_seconds));
  CONCUR_ASSIGN_OR_RETURN(Sums sums, ReadSums(directory));
  analysis::Table table =
      ListTable({{"file"}, {"outcome"}, {"bytes", true}, {"sha256"}, {"verified"}});
  for (const spec::DataSourceFile& file : source.files) {
    CONCUR_ASSIGN_OR_RETURN(const Fetched fetched,
                            FetchFile(*transport, source, file, directory, sums, context));
    const bool is_new = sums.insert_or_assign(file.name, fetched.sha256).second;
    CONCUR_RETURN_IF_ERROR(WriteSums(directory, sums));
    table.rows.push_back({TextCell(directory + "/" + file.name), TextCell(fetched.outcome),
                          IntegerCell(fetched.bytes), TextCell(fetched.sha256.ToHex()),
                          TextCell(file.sha256.has_value() ? "yes"
                                   : is_new                ? "first seen: recorded"
                                                           : "as recorded")});
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
