// SPDX-License-Identifier: Apache-2.0
// Reads entries of the catalogue of public data (configs/data): URLs and digests of a benchmark's
// files, their licence, and the commands that import them.
//
//   apiVersion: concur/v1
//   kind: DataSource
//   metadata: {name: squad, description: …}
//   spec:
//     licence: CC BY-SA 4.0
//     homepage: https://…
//     files:
//       - {name: train-v1.1.json, url: https://…, sha256: …}
//     import: [concur data import squad --in train-v1.1.json --out train.jsonl]
//
// A file that is not public has `ask: WHOM` instead of an address. `revision: main` in the spec
// stands for "{revision}" in addresses, where a publisher keeps several.
//
// Thread-safe (stateless functions, values).
#ifndef CONCUR_YAML_CATALOGUE_YAML_H_
#define CONCUR_YAML_CATALOGUE_YAML_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "yaml/errors.h"
#include "yaml/yaml_reader.h"

namespace concur::spec {

inline constexpr char kRevision[] = "{revision}";  // in addresses

struct DataSourceFile {
  std::string name;  // file name, without a directory
  std::string url;  // http or https, perhaps with kRevision; "" where `ask` says whom to ask for it
  std::string ask;
  std::optional<Digest> sha256;
};

struct DataSource {
  std::string name;
  std::string description;
  std::string licence;
  std::string homepage;
  std::string revision;               // "" when no address has one
  std::vector<DataSourceFile> files;  // at least one, names unique
  std::vector<std::string> import;    // command lines to show, in order
};

// True if addresses may have such a revision: at most 100 letters, digits and ".", "_", "-", "/",
// of which no part is empty or begins with a dot.
bool IsRevision(absl::string_view text);

// Reads a document of kind DataSource. The result is valid only if no error was added.
DataSource ReadDataSourceFile(const YamlFile& file, ErrorList& errors);
// The same from the disk. InvalidArgument lists every error with its position.
absl::StatusOr<DataSource> LoadDataSource(const std::string& path);

}  // namespace concur::spec

#endif  // CONCUR_YAML_CATALOGUE_YAML_H_
