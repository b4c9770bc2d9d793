// SPDX-License-Identifier: Apache-2.0
#include "yaml/errors.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace concur::spec {
namespace {

constexpr size_t kKeptMax = 1000;  // others are only counted

}  // namespace

std::string PlaceText(absl::string_view file, Position at, absl::string_view field) {
  std::string text(file);
  if (at.line > 0) {
    absl::StrAppend(&text, ":", at.line, ":", at.column);
  }
  if (!text.empty()) {
    absl::StrAppend(&text, ": ");
  }
  if (!field.empty()) {
    absl::StrAppend(&text, field, ": ");
  }
  return text;
}

size_t ErrorList::IndexOf(absl::string_view file) {
  const auto found = std::find(files_.begin(), files_.end(), file);
  if (found != files_.end()) {
    return static_cast<size_t>(found - files_.begin());
  }
  files_.emplace_back(file);
  return files_.size() - 1;
}

void ErrorList::Add(absl::string_view file, Position at, absl::string_view field,
                    absl::string_view message) {
  std::string text = absl::StrCat(PlaceText(file, at, field), message);
  for (const Error& error : errors_) {
    if (error.text == text) {
      return;  // an override is read once for each file
    }
  }
  ++count_;
  if (errors_.size() >= kKeptMax) {
    return;
  }
  errors_.push_back({IndexOf(file), at, std::move(text)});
}

void ErrorList::AddUnreadable(absl::string_view kind, const absl::Status& reason) {
  is_missing_ = absl::IsNotFound(reason);
  Add("", {}, "", absl::StrCat("expected a readable ", kind, ", got ", reason.message()));
}

absl::Status ErrorList::ToStatus() const {
  if (empty()) {
    return absl::OkStatus();
  }
  std::vector<const Error*> sorted;
  for (const Error& error : errors_) {
    sorted.push_back(&error);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const Error* a, const Error* b) {
    return std::tie(a->file, a->at.line, a->at.column) <
           std::tie(b->file, b->at.line, b->at.column);
  });
  std::string text;
  const size_t shown = std::min(sorted.size(), kShownMax);
  for (size_t i = 0; i < shown; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : "\n", sorted[i]->text);
  }
  if (count_ > shown) {
    absl::StrAppend(&text, "\nand ", count_ - shown, " more");
  }
  return is_missing_ && count_ == 1 ? absl::NotFoundError(text) : absl::InvalidArgumentError(text);
}

}  // namespace concur::spec
