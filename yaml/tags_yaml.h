// SPDX-License-Identifier: Apache-2.0
// Tags and labels of a file: a list of names, or a map.
#ifndef CONCUR_YAML_TAGS_YAML_H_
#define CONCUR_YAML_TAGS_YAML_H_

#include "core/sweep/sweep.h"
#include "yaml/value.h"

namespace concur::spec {

Tags ReadTags(const Value& value);

}  // namespace concur::spec

#endif  // CONCUR_YAML_TAGS_YAML_H_
