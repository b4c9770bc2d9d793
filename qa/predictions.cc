// SPDX-License-Identifier: Apache-2.0
#include "qa/predictions.h"

#include <simdjson.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "qa/json_fields.h"
#include "qa/json_text.h"
#include "qa/raw_bytes.h"

namespace concur::qa {

std::optional<absl::string_view> Predictions::FirstIdNotIn(
    const absl::flat_hash_set<absl::string_view>& known) const {
  std::optional<absl::string_view> first;
  for (const auto& [id, answer] : answers_) {
    if (!known.contains(id) && (!first || id < *first)) {
      first = id;
    }
  }
  return first;
}

namespace {

absl::Status OfAnotherForm(const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), "; \"concur adapt\" reads other forms"));
}

}  // namespace

absl::StatusOr<Predictions> ReadPredictions(const std::string& path) {
  CONCUR_ASSIGN_OR_RETURN(const std::string bytes, ReadRawBytes(path, kPredictionsBytesMax));
  absl::string_view text(bytes.data(), bytes.size() - kRawPadding);
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");
  JsonFields json;
  json.place = path;
  if (text.find_first_not_of(" \t\r\n") == absl::string_view::npos) {
    return json.Invalid("the file is empty; expected predictions {\"id\": \"answer\"}");
  }
  // The predictions refer to the parser's strings.
  const auto parser = std::make_shared<simdjson::dom::parser>();
  simdjson::dom::element document;
  const simdjson::error_code code =
      parser->parse(text.data(), text.size(), /*realloc_if_needed=*/false).get(document);
  if (code != simdjson::SUCCESS) {
    return OfAnotherForm(json.BadJson(text, code));
  }
  if (!document.is_object()) {
    return OfAnotherForm(
        json.Invalid("expected an object {\"id\": \"answer\"}, got another JSON value"));
  }
  const auto view = [](std::string_view v) { return absl::string_view(v.data(), v.size()); };
  const simdjson::dom::object object(document);
  Predictions predictions(parser);
  predictions.Reserve(object.size());
  for (const auto& [key, value] : object) {
    if (!value.is_string()) {
      return OfAnotherForm(json.Wrong(Shown(view(key)), "a string", value));
    }
    if (!predictions.Add(view(key), view(std::string_view(value)))) {
      return json.Invalid(Shown(view(key)) + ": appears twice; ids must be unique");
    }
  }
  return predictions;
}

}  // namespace concur::qa
