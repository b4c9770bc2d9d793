// SPDX-License-Identifier: Apache-2.0
#include "yaml/shape.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"

namespace concur::spec {
namespace {

Shape& Made(std::unique_ptr<Shape>& shape) {
  if (shape == nullptr) {
    shape = std::make_unique<Shape>();
  }
  return *shape;
}

}  // namespace

Shape& Shape::Field(absl::string_view key) {
  const auto found = fields.find(key);
  return Made(found == fields.end() ? fields[std::string(key)] : found->second);
}

Shape& Shape::Items() { return Made(items); }

Shape& Shape::Entries() { return Made(entries); }

void Shape::AddInteger(int64_t low, int64_t high) {
  integer = integer ? Range{std::min(integer->low, low), std::max(integer->high, high)}
                    : Range{low, high};
}

void Shape::AddChoices(absl::string_view error) {
  const size_t open = error.find('(');
  const size_t close = error.find(')');
  if (!choices.empty() || open == error.npos || close == error.npos || close < open) {
    return;
  }
  for (const absl::string_view choice :
       absl::StrSplit(error.substr(open + 1, close - open - 1), ", ")) {
    choices.emplace_back(choice);
  }
}

void Shape::AddAbout(absl::string_view what) {
  if (about.empty()) {
    about = std::string(what);
  }
}

void Shape::AddReading(const std::set<std::string>& needed) {
  if (!required) {
    required = needed;
    return;
  }
  std::set<std::string> both;
  std::set_intersection(required->begin(), required->end(), needed.begin(), needed.end(),
                        std::inserter(both, both.end()));
  required = std::move(both);
}

bool Shape::IsKnown() const {
  return !scalars.empty() || integer || !choices.empty() || required || items != nullptr ||
         entries != nullptr;
}

size_t Shape::Size() const {
  size_t size = scalars.size() + (integer ? 1 : 0) + choices.size() + (required ? 1 : 0);
  for (const auto& [key, field] : fields) {
    size += 1 + field->Size();
  }
  for (const Shape* below : {items.get(), entries.get()}) {
    size += below == nullptr ? 0 : 1 + below->Size();
  }
  return size;
}

}  // namespace concur::spec
