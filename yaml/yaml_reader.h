// SPDX-License-Identifier: Apache-2.0
// A strict reader of YAML: one document of plain mappings, lists and scalars, with positions.
//
// Refuses everything that readers may interpret differently: duplicate keys, aliases, anchors,
// merge keys, tags, several documents, keys that are not text, bytes that are not UTF-8. Size,
// depth and number of nodes are limited. Exceptions of the YAML library are caught here.
//
// Thread-safe (stateless functions, values).
#ifndef CONCUR_YAML_YAML_READER_H_
#define CONCUR_YAML_YAML_READER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "yaml/errors.h"

namespace concur::spec {

inline constexpr int64_t kYamlBytesMax = 8 << 20;
inline constexpr size_t kYamlDepthMax = 32;
inline constexpr size_t kYamlNodesMax = 2'000'000;

struct YamlNode {
  enum class Kind { kNull, kScalar, kSequence, kMap };
  struct Entry;

  Kind kind = Kind::kNull;
  Position at;        // for a null value, the position of its key
  std::string text;   // a scalar's
  bool plain = true;  // a scalar without quotes, maybe a number or boolean
  // The directory at which a relative path in this scalar starts, if the variable at its start was
  // defined elsewhere; "" means the directory of the file.
  std::string path_base;
  std::string variable;  // the name of that variable; "" if none
  std::vector<YamlNode> items;
  std::vector<Entry> entries;  // in file order, keys unique
};

struct YamlNode::Entry {
  std::string key;
  Position key_at;
  YamlNode value;
};

struct Shape;

struct YamlFile {
  std::string path;       // as shown in errors
  std::string directory;  // where its relative paths start; not ""
  YamlNode root;
  Shape* shape = nullptr;  // takes down what is read of the root, for yaml/schema.h
};

// A variable's value, and where a relative path in it starts.
struct Variable {
  std::string value;
  std::string path_base;
};
using Variables = std::map<std::string, Variable>;

// Parses `contents`. Returns false and adds an error if it is not one strict document. Duplicate
// keys are errors too, but the tree can still be read to find more errors.
bool ParseYaml(absl::string_view contents, YamlFile* file, ErrorList* errors);

// The bytes of `path`, for ParseYaml; sets file->path and file->directory. Of a file that is too
// large, enough that ParseYaml says so. Fails as ReadFile does.
absl::StatusOr<std::string> OpenYamlFile(const std::string& path, YamlFile* file);

// Replaces ${name} in every scalar below `node`; "$${" stands for "${". Unknown names are errors.
// `field` is the path of `node` for messages; keys are left as they are.
void SubstituteVariables(const Variables& variables, const std::string& file_path,
                         const std::string& field, YamlNode* node, ErrorList* errors);

// "parent.key"; ambiguous keys are quoted, long ones truncated.
std::string FieldPath(absl::string_view parent, absl::string_view key);
std::string FieldPath(absl::string_view parent, size_t index);

}  // namespace concur::spec

#endif  // CONCUR_YAML_YAML_READER_H_
