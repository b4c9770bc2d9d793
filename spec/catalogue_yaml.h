// Reads entries of the catalogue of public data (configs/data): where a benchmark's files are, what
// they are known by, under which licence, and how they are imported.
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
// Thread-safe (stateless functions, values).
#ifndef CONCUR_SPEC_CATALOGUE_YAML_H_
#define CONCUR_SPEC_CATALOGUE_YAML_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/digest.h"

namespace concur::spec {

struct DataSourceFile {
  std::string name;  // to store it under; no directory
  std::string url;   // http or https
  std::optional<Digest> sha256;
};

struct DataSource {
  std::string name;
  std::string description;
  std::string licence;
  std::string homepage;
  std::vector<DataSourceFile> files;  // at least one, names unique
  std::vector<std::string> import;    // command lines to show, in order
};

// InvalidArgument lists every error with its position.
absl::StatusOr<DataSource> LoadDataSource(const std::string& path);

}  // namespace concur::spec

#endif  // CONCUR_SPEC_CATALOGUE_YAML_H_
