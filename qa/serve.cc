// SPDX-License-Identifier: Apache-2.0
#include "qa/serve.h"

#include <cstdint>
#include <istream>
#include <optional>
#include <ostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/escape.h"
#include "base/status_macros.h"
#include "qa/json_fields.h"

namespace concur::qa {
namespace {

// Reads a line, or as much of it as is one byte too much; false at the end.
bool ReadServeLine(std::istream& in, std::string& line) {
  line.clear();
  for (int c = in.get(); c != std::istream::traits_type::eof(); c = in.get()) {
    if (c == '\n') {
      return true;
    }
    line.push_back(static_cast<char>(c));
    if (line.size() > kServeLineBytesMax) {
      return true;
    }
  }
  return !line.empty();
}

}  // namespace

absl::Status ServeAnswers(std::istream& in, std::ostream& out, Answerer answer,
                          absl::string_view place) {
  simdjson::dom::parser parser;
  std::string line;
  for (int64_t number = 1; ReadServeLine(in, line); ++number) {
    JsonFields fields;
    fields.place = absl::StrCat(place, ":", number);
    if (line.size() > kServeLineBytesMax) {
      return fields.Invalid(
          absl::StrCat("expected at most ", kServeLineBytesMax, " bytes in a line"));
    }
    JsonFields::Element root;
    if (const auto error = parser.parse(line).get(root); error != simdjson::SUCCESS) {
      return fields.BadJson(line, error, number);
    }
    std::optional<JsonFields::Element> id;
    std::optional<JsonFields::Element> passage;
    std::optional<JsonFields::Element> text;
    CONCUR_RETURN_IF_ERROR(fields.Collect(
        root, "question", {{"id", &id}, {"passage", &passage}, {"question", &text}}));
    Question question;
    CONCUR_ASSIGN_OR_RETURN(question.id, fields.Text(id, "id"));
    CONCUR_ASSIGN_OR_RETURN(question.text, fields.Text(text, "question"));
    CONCUR_ASSIGN_OR_RETURN(std::string context, fields.Text(passage, "passage"));
    CONCUR_ASSIGN_OR_RETURN(const std::string answered, answer(std::move(context), question));
    std::string reply = "{\"id\": ";
    AppendJsonString(question.id, reply);
    reply.append(", \"answer\": ");
    AppendJsonString(answered, reply);
    out << reply << "}" << std::endl;  // the asker waits for it
  }
  return absl::OkStatus();
}

}  // namespace concur::qa
