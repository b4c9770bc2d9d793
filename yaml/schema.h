// SPDX-License-Identifier: Apache-2.0
// The shape of every kind of YAML document, found by letting its reader read: documents are made
// that have more and more of what the reader asked for, until it asks for nothing new. So there is
// no second list of fields that could differ from what is read.
//
// Thread-safe (stateless functions).
#ifndef CONCUR_YAML_SCHEMA_H_
#define CONCUR_YAML_SCHEMA_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "yaml/shape.h"

namespace concur::spec {

struct DocumentKind {
  std::string name;            // "sweep"
  std::string kind;            // "Sweep", as the document says
  bool has_variables = false;  // ${name} may stand in its values
};
const std::vector<DocumentKind>& DocumentKinds();

// The shape of a document of that kind.
Shape ShapeOf(const DocumentKind& kind);

}  // namespace concur::spec

#endif  // CONCUR_YAML_SCHEMA_H_
