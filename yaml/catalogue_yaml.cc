// SPDX-License-Identifier: Apache-2.0
#include "yaml/catalogue_yaml.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "yaml/approach_yaml.h"
#include "yaml/errors.h"
#include "yaml/value.h"
#include "yaml/yaml_reader.h"

namespace concur::spec {
namespace {

// The text of a required field; "" after an error.
std::string RequiredText(Fields& fields, absl::string_view key, absl::string_view what) {
  const std::optional<Value> value = fields.Require(key, what);
  return value ? value->Text().value_or("") : "";
}

bool IsFileName(absl::string_view name) {
  return !name.empty() && name[0] != '.' && !absl::StrContains(name, "/") &&
         std::none_of(name.begin(), name.end(),
                      [](char c) { return absl::ascii_iscntrl(static_cast<unsigned char>(c)); });
}

DataSourceFile ReadFileEntry(const Value& value) {
  DataSourceFile file;
  Fields fields(value);
  if (const auto name = fields.Require("name", "the name to store it under")) {
    file.name = name->Text().value_or("");
    if (!IsFileName(file.name)) {
      name->Expected("a file's name, without a directory and not hidden");
    }
  }
  const auto ask = fields.Get("ask");
  if (ask) {
    file.ask = ask->Text().value_or("");
    if (file.ask.empty()) {
      ask->Expected("whom to ask for a file that is not public");
    }
  }
  if (const auto url = ask ? fields.Get("url") : fields.Require("url", "its address, or \"ask\"")) {
    if (ask) {
      url->Error("expected either \"url\" or \"ask\", got both");
    }
    file.url = url->Text().value_or("");
    if (!absl::StartsWith(file.url, "https://") && !absl::StartsWith(file.url, "http://")) {
      url->Expected("an address that starts with https:// or http://");
    }
  }
  if (const auto digest = fields.Get("sha256")) {
    const absl::StatusOr<Digest> parsed = Digest::FromHex(digest->Text().value_or(""));
    if (parsed.ok()) {
      file.sha256 = *parsed;
    } else {
      digest->Error(parsed.status().message());
    }
  }
  fields.Finish();
  return file;
}

// Addresses name the revision, or there is none.
void CheckRevision(const std::optional<Value>& revision, const Value& spec,
                   const DataSource& source) {
  const bool used = std::any_of(
      source.files.begin(), source.files.end(),
      [](const DataSourceFile& file) { return absl::StrContains(file.url, kRevision); });
  if (revision && !IsRevision(source.revision)) {
    revision->Expected("a commit, tag or branch");
  } else if (revision && !used) {
    revision->Error(absl::StrCat("no url has ", kRevision));
  } else if (!revision && used) {
    spec.Error(absl::StrCat("expected \"revision\", which a url has as ", kRevision));
  }
}

void ReadSpec(const Value& value, DataSource& source) {
  Fields fields(value);
  source.licence = RequiredText(fields, "licence", "under which the files may be used");
  source.homepage = RequiredText(fields, "homepage", "the publishers' page");
  if (const auto files = fields.Require("files", "what to download")) {
    if (const std::optional<std::vector<Value>> list = files->List()) {
      for (const Value& entry : *list) {
        DataSourceFile file = ReadFileEntry(entry);
        const bool repeated =
            std::any_of(source.files.begin(), source.files.end(),
                        [&](const DataSourceFile& other) { return other.name == file.name; });
        if (repeated) {
          entry.Error(absl::StrCat("name: \"", file.name, "\" appears twice"));
        }
        source.files.push_back(std::move(file));
      }
      if (list->empty()) {
        files->Error("expected at least one file, got none");
      }
    }
  }
  const auto revision = fields.Get("revision");
  if (revision) {
    source.revision = revision->Text().value_or("");
  }
  CheckRevision(revision, value, source);
  if (const auto lines = fields.Get("import")) {
    for (const Value& line : lines->List().value_or(std::vector<Value>())) {
      source.import.push_back(line.Text().value_or(""));
    }
  }
  fields.Finish();
}

}  // namespace

bool IsRevision(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '/');
  return text.size() <= 100 && std::all_of(parts.begin(), parts.end(), [](absl::string_view part) {
           return !part.empty() && part[0] != '.' &&
                  std::all_of(part.begin(), part.end(), [](char c) {
                    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                           absl::StrContains("._-", c);
                  });
         });
}

DataSource ReadDataSourceFile(const YamlFile& file, ErrorList& errors) {
  const Document document = ReadDocument(file, "DataSource", true, errors);
  DataSource source;
  if (document.metadata) {
    Fields fields(*document.metadata);
    if (const auto name = fields.Require("name", "the name to fetch it by")) {
      source.name = name->Name().value_or("");
    }
    source.description = RequiredText(fields, "description", "one line on what it is");
    fields.Finish();
  }
  if (document.spec) {
    ReadSpec(*document.spec, source);
  }
  return source;
}

absl::StatusOr<DataSource> LoadDataSource(const std::string& path) {
  ErrorList errors;
  YamlFile file;
  if (!LoadYaml(path, {}, nullptr, &file, &errors)) {
    return errors.ToStatus();
  }
  DataSource source = ReadDataSourceFile(file, errors);
  if (!errors.empty()) {
    return errors.ToStatus();
  }
  return source;
}

}  // namespace concur::spec
