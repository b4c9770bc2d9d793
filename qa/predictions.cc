#include "qa/predictions.h"

#include <simdjson.h>

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "qa/json_text.h"
#include "qa/raw_bytes.h"

namespace concur::qa {
namespace {

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

absl::StatusOr<Predictions> ReadPredictions(const std::string& path) {
  CONCUR_ASSIGN_OR_RETURN(const std::string bytes, ReadRawBytes(path));
  absl::string_view text(bytes.data(), bytes.size() - kRawPadding);
  if (absl::StartsWith(text, "\xEF\xBB\xBF")) {
    text.remove_prefix(3);
  }
  const auto invalid = [&](absl::string_view message) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", message));
  };
  if (text.find_first_not_of(" \t\r\n") == absl::string_view::npos) {
    return invalid("the file is empty; expected predictions {\"id\": \"answer\"}");
  }
  // It keeps the strings.
  const auto parser = std::make_shared<simdjson::dom::parser>();
  simdjson::dom::element document;
  const simdjson::error_code code =
      parser->parse(text.data(), text.size(), /*realloc_if_needed=*/false).get(document);
  if (code == simdjson::MEMALLOC) {
    return absl::ResourceExhaustedError(absl::StrCat(path, ": out of memory"));
  }
  if (code != simdjson::SUCCESS) {
    const std::string reason = ExplainJsonError(text);
    return invalid(
        absl::StrCat("not valid JSON: ", reason.empty() ? simdjson::error_message(code) : reason));
  }
  if (!document.is_object()) {
    return invalid("expected an object {\"id\": \"answer\"}, got another JSON value");
  }
  const simdjson::dom::object object(document);
  Predictions predictions(parser);
  predictions.Reserve(object.size());
  for (const auto& [key, value] : object) {
    if (!value.is_string()) {
      return invalid(absl::StrCat(Shown(View(key)), ": expected a string, got ",
                                  value.is_object()  ? "an object"
                                  : value.is_array() ? "a list"
                                                     : simdjson::minify(value)));
    }
    if (!predictions.Add(View(key), View(value))) {
      return invalid(absl::StrCat(Shown(View(key)), ": appears twice; ids must be unique"));
    }
  }
  return predictions;
}

}  // namespace concur::qa
