// SPDX-License-Identifier: Apache-2.0
#include "yaml/tags_yaml.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/names.h"

namespace concur::spec {

Tags ReadTags(const Value& value) {
  Tags tags;
  const auto add = [&](const Value& at, const std::string& name, const std::string& text) {
    const absl::Status valid = ValidateName(name);
    if (!valid.ok()) {
      at.Error(valid.message());
    } else if (!tags.emplace(name, text).second) {
      at.Error(absl::StrCat("expected each tag once, got \"", name, "\" again"));
    }
  };
  if (value.IsList()) {
    const std::optional<std::vector<Value>> items = value.List();
    for (const Value& item : *items) {
      if (const std::optional<std::string> name = item.Text("a tag")) {
        add(item, *name, "yes");
      }
    }
    return tags;
  }
  const std::optional<std::vector<Value::Entry>> entries =
      value.Entries("tags such as [neural] or {pretrained: no}");
  if (entries) {
    for (const Value::Entry& entry : *entries) {
      if (const std::optional<std::string> text = entry.value.Text()) {
        add(entry.key_value, entry.key, *text);
      }
    }
  }
  return tags;
}

}  // namespace concur::spec
