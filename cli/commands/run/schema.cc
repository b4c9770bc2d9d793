// SPDX-License-Identifier: Apache-2.0
// `concur sweep schema`: JSON Schemas of the YAML files, for editors, from what their readers read.
#include "yaml/schema.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/command/command.h"
#include "base/output_file.h"
#include "base/suggest.h"
#include "cli/commands/commands.h"
#include "cli/output/print.h"
#include "cli/output/table_output.h"
#include "yaml/shape.h"

namespace concur::cli {
namespace {

using spec::Shape;

constexpr char kVariablePattern[] = R"(\$\{)";

// A word without quotes may be read as a number or as true by an editor; text it is to the reader.
Json AnyScalar() { return {{"type", {"string", "number", "boolean"}}}; }

Json IntegerSchema(const Shape::Range& range) {
  constexpr int64_t kExact = int64_t{1} << 53;  // larger ones are rounded by readers of JSON
  Json json = {{"type", "integer"}};
  if (range.low > -kExact) {
    json["minimum"] = range.low;
  }
  if (range.high < kExact) {
    json["maximum"] = range.high;
  }
  return json;
}

// The forms of a scalar that are accepted.
std::vector<Json> ScalarSchemas(const Shape& shape, bool has_variables) {
  const auto takes = [&](Shape::Scalar scalar) { return shape.scalars.count(scalar) > 0; };
  std::vector<Json> forms;
  bool text = false;  // true if any text fits
  if (!shape.choices.empty()) {
    forms.push_back({{"enum", shape.choices}});
  } else if (takes(Shape::Scalar::kPath)) {
    forms.push_back({{"type", "string"}});
    text = true;
  } else if (takes(Shape::Scalar::kParam) || takes(Shape::Scalar::kText) ||
             takes(Shape::Scalar::kName)) {
    forms.push_back(AnyScalar());
    text = true;
  }
  if (takes(Shape::Scalar::kDuration)) {
    forms.push_back({{"type", "string"}, {"pattern", "^[0-9]"}, {"examples", {"90s", "1h30m"}}});
  }
  if (takes(Shape::Scalar::kBytes)) {
    forms.push_back({{"type", "string"}, {"pattern", "^[0-9]"}, {"examples", {"500MB", "1GiB"}}});
    forms.push_back({{"const", 0}});
  }
  if (takes(Shape::Scalar::kBool)) {
    forms.push_back({{"type", "boolean"}});
  }
  if (takes(Shape::Scalar::kNumber)) {
    forms.push_back({{"type", "number"}});
  }
  if (shape.integer) {
    forms.push_back(IntegerSchema(*shape.integer));
  }
  if (!forms.empty() && has_variables && !text) {
    forms.push_back({{"type", "string"}, {"pattern", kVariablePattern}});
  }
  return forms;
}

Json SchemaOf(const Shape& shape, bool has_variables);

Json MappingSchema(const Shape& shape, bool has_variables) {
  Json json = {{"type", "object"}};
  if (shape.entries != nullptr) {
    json["additionalProperties"] = SchemaOf(*shape.entries, has_variables);
    return json;
  }
  json["properties"] = Json::object();
  for (const auto& [key, field] : shape.fields) {
    json["properties"][key] = SchemaOf(*field, has_variables);
  }
  if (shape.required && !shape.required->empty()) {
    json["required"] = *shape.required;
  }
  json["additionalProperties"] = false;
  return json;
}

// Anything, where the reader accepts a value and asks for no form.
Json SchemaOf(const Shape& shape, bool has_variables) {
  std::vector<Json> forms = ScalarSchemas(shape, has_variables);
  if (shape.items != nullptr) {
    forms.push_back({{"type", "array"}, {"items", SchemaOf(*shape.items, has_variables)}});
  }
  if (shape.entries != nullptr || shape.required) {
    forms.push_back(MappingSchema(shape, has_variables));
  }
  Json json = Json::object();
  if (!shape.about.empty()) {
    json["description"] = shape.about;
  }
  if (forms.size() == 1) {
    json.update(forms[0]);
  } else if (!forms.empty()) {
    json["anyOf"] = std::move(forms);
  }
  return json;
}

Json DocumentSchema(const spec::DocumentKind& kind) {
  Shape shape = spec::ShapeOf(kind);
  std::erase_if(shape.fields, [](const auto& field) { return !field.second->IsKnown(); });
  Json json = {{"$schema", "http://json-schema.org/draft-07/schema#"},
               {"title", absl::StrCat("Concur: ", kind.kind)}};
  json.update(MappingSchema(shape, kind.has_variables));
  json["properties"]["apiVersion"] = {{"const", "concur/v1"}};
  json["properties"]["kind"] = {{"const", kind.kind}};
  return json;
}

absl::Status RunSchema(const std::string& name, const std::string& out, CommandContext& context) {
  std::vector<std::string> names;
  for (const spec::DocumentKind& kind : spec::DocumentKinds()) {
    names.push_back(kind.name);
    if (kind.name != name) {
      continue;
    }
    const std::string text = DocumentSchema(kind).dump(2) + "\n";
    if (!out.empty()) {
      return WriteOutput(out, text);
    }
    context.out << text;
    return absl::OkStatus();
  }
  if (!name.empty()) {
    return absl::NotFoundError(absl::StrCat("kind: ", ExpectedOneOf(names, name)));
  }
  analysis::Table table = ListTable({{"name"}, {"kind"}});
  for (const spec::DocumentKind& kind : spec::DocumentKinds()) {
    table.rows.push_back(TextCells({kind.name, kind.kind}));
  }
  PrintRows(table, context);
  return absl::OkStatus();
}

struct SchemaFlags {
  std::string kind;
  std::string out;
};

}  // namespace

void AddSchemaCommand(Command& sweep, CommandContext& context) {
  Command* const command =
      sweep.AddSubcommand("schema", "The JSON Schema of a kind of YAML file, for an editor");
  const auto flags = std::make_shared<SchemaFlags>();
  command->AddOption("kind", flags->kind, "The kind of files; without it, the kinds are listed")
      ->TypeName("KIND");
  command->AddOption("--out", flags->out, "The file to write, rather than standard output")
      ->TypeName("FILE");
  command->Footer(
      "In the first line of study.yaml: # yaml-language-server: $schema=sweep.schema.json\n"
      "Examples:\n"
      "  concur sweep schema\n"
      "  concur sweep schema sweep --out sweep.schema.json");
  OnRun(command, context,
        [flags, &context] { return RunSchema(flags->kind, flags->out, context); });
}

}  // namespace concur::cli
