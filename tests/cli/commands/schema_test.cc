// SPDX-License-Identifier: Apache-2.0
// The schemas fit what the readers read: every shipped file is valid, a wrong one is not.
#include "yaml/schema.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "tests/cli/run_concur.h"
#include "tests/testing/test.h"
#include "yaml/errors.h"
#include "yaml/yaml_reader.h"

namespace concur::cli {
namespace {

using SchemaJson = nlohmann::json;

// As an editor reads YAML.
SchemaJson JsonOf(const spec::YamlNode& node) {
  double number = 0;
  SchemaJson json;
  switch (node.kind) {
    case spec::YamlNode::Kind::kNull:
      return json;
    case spec::YamlNode::Kind::kScalar:
      if (node.plain && (node.text == "true" || node.text == "false")) {
        return node.text == "true";
      }
      if (node.plain && absl::SimpleAtod(node.text, &number)) {
        const bool whole = node.text.find_first_not_of("-0123456789") == std::string::npos;
        return whole ? SchemaJson(static_cast<int64_t>(number)) : SchemaJson(number);
      }
      return node.text;
    case spec::YamlNode::Kind::kSequence:
      json = SchemaJson::array();
      for (const spec::YamlNode& item : node.items) {
        json.push_back(JsonOf(item));
      }
      return json;
    case spec::YamlNode::Kind::kMap:
      json = SchemaJson::object();
      for (const spec::YamlNode::Entry& entry : node.entries) {
        json[entry.key] = JsonOf(entry.value);
      }
      return json;
  }
  return json;
}

bool HasType(const SchemaJson& value, const std::string& type) {
  return type == "string"    ? value.is_string()
         : type == "number"  ? value.is_number()
         : type == "integer" ? value.is_number_integer()
         : type == "boolean" ? value.is_boolean()
         : type == "array"   ? value.is_array()
                             : value.is_object();
}

// "" when `value` fits; else where it does not. The part of JSON Schema that is used here.
std::string Misfit(const SchemaJson& schema, const SchemaJson& value, const std::string& place) {
  if (schema.contains("anyOf")) {
    std::string all;
    for (const SchemaJson& form : schema["anyOf"]) {
      const std::string misfit = Misfit(form, value, place);
      if (misfit.empty()) {
        return "";
      }
      absl::StrAppend(&all, "(", misfit, ")");
    }
    return all;
  }
  if (schema.contains("const") && schema["const"] != value) {
    return place + ": another constant";
  }
  if (schema.contains("enum") &&
      std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end()) {
    return absl::StrCat(place, ": none of the words: ", value.dump());
  }
  if (schema.contains("type")) {
    const SchemaJson types =
        schema["type"].is_array() ? schema["type"] : SchemaJson::array({schema["type"]});
    const bool right = std::any_of(types.begin(), types.end(), [&](const SchemaJson& type) {
      return HasType(value, type.get<std::string>());
    });
    if (!right) {
      return absl::StrCat(place, ": another type: ", value.dump());
    }
  }
  if (schema.value("pattern", "") == R"(\$\{)" &&
      !absl::StrContains(value.get<std::string>(), "${")) {
    return place + ": no variable";
  }
  if (value.is_number() && ((schema.contains("minimum") && value < schema["minimum"]) ||
                            (schema.contains("maximum") && value > schema["maximum"]))) {
    return place + ": out of range";
  }
  for (const SchemaJson& key : schema.value("required", SchemaJson::array())) {
    if (!value.contains(key.get<std::string>())) {
      return absl::StrCat(place, ": lacks ", key.dump());
    }
  }
  for (const SchemaJson& item : value.is_array() ? value : SchemaJson::array()) {
    const std::string misfit =
        Misfit(schema.value("items", SchemaJson::object()), item, place + "[]");
    if (!misfit.empty()) {
      return misfit;
    }
  }
  const SchemaJson fields = value.is_object() ? value : SchemaJson::object();
  for (const auto& [key, field] : fields.items()) {
    const SchemaJson properties = schema.value("properties", SchemaJson::object());
    const SchemaJson others = schema.value("additionalProperties", SchemaJson(true));
    if (!properties.contains(key) && others == SchemaJson(false)) {
      return absl::StrCat(place, ": unknown ", key);
    }
    const SchemaJson below = properties.contains(key) ? properties[key] : others;
    const std::string misfit =
        below.is_object() ? Misfit(below, field, absl::StrCat(place, ".", key)) : "";
    if (!misfit.empty()) {
      return misfit;
    }
  }
  return "";
}

const SchemaJson& Schema(const std::string& kind) {
  static auto& schemas = *new std::map<std::string, SchemaJson>;
  SchemaJson& schema = schemas[kind];
  if (schema.is_null()) {
    schema = SchemaJson::parse(RunConcur({"sweep", "schema", kind}).out);
  }
  return schema;
}

std::string MisfitOf(const std::string& kind, const std::string& yaml) {
  spec::YamlFile file;
  spec::ErrorList errors;
  EXPECT_TRUE(spec::ParseYaml(yaml, &file, &errors)) << errors.ToStatus();
  return Misfit(Schema(kind), JsonOf(file.root), "");
}

// The name of the kind that a document says it is of; "" if none.
std::string KindIn(const std::string& yaml) {
  for (const spec::DocumentKind& kind : spec::DocumentKinds()) {
    if (absl::StrContains(yaml, absl::StrCat("kind: ", kind.kind, "\n"))) {
      return kind.name;
    }
  }
  return "";
}

TEST(SchemaTest, EveryShippedFileFitsTheSchemaOfItsKind) {
  const char* source = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  const std::string configs = absl::StrCat(source == nullptr ? "." : source, "/configs");
  std::map<std::string, int> seen;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(configs)) {
    if (entry.path().extension() != ".yaml") {
      continue;
    }
    ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(entry.path().string()));
    const std::string kind = KindIn(text);
    ASSERT_NE(kind, "") << entry.path();
    EXPECT_EQ(MisfitOf(kind, text), "") << entry.path();
    ++seen[kind];
  }
  for (const spec::DocumentKind& kind : spec::DocumentKinds()) {
    EXPECT_GT(seen[kind.name], 0) << kind.name;
  }
}

TEST(SchemaTest, WhatTheReaderRefusesDoesNotFit) {
  const std::string head = "apiVersion: concur/v1\nkind: Sweep\nmetadata: {name: x}\nspec:\n";
  const std::string lists = "  approaches: [a.yaml]\n  benchmarks: [b.yaml]\n";
  EXPECT_EQ(MisfitOf("sweep", head + lists), "");
  EXPECT_THAT(MisfitOf("sweep", head + lists + "  seed: 1\n"), HasSubstr(".spec: unknown seed"));
  EXPECT_THAT(MisfitOf("sweep", head + "  approaches: [a.yaml]\n"), HasSubstr("benchmarks"));
  EXPECT_THAT(MisfitOf("sweep", head + lists + "  select: bset\n"), HasSubstr("none of the words"));
  EXPECT_THAT(MisfitOf("sweep", head + lists + "  settings: {random: -1}\n"),
              HasSubstr("out of range"));
  EXPECT_THAT(MisfitOf("sweep", head + lists + "  exclude: [{aproach: a}]\n"),
              HasSubstr("unknown aproach"));
  EXPECT_THAT(
      MisfitOf("benchmark",
               "apiVersion: concur/v1\nkind: Sweep\nmetadata: {name: x}\nspec: {test: a}\n"),
      HasSubstr("another constant"));
}

TEST(SchemaTest, EveryFormOfAFieldIsFound) {
  const SchemaJson& sweep = Schema("sweep")["properties"]["spec"];
  EXPECT_EQ(sweep["properties"]["seeds"]["anyOf"].size(), 2u) << "a list, or from and to";
  EXPECT_EQ(sweep["properties"]["timeout"]["anyOf"].back()["properties"].size(), 2u);
  EXPECT_THAT(sweep["required"], ElementsAre("approaches", "benchmarks"));
  const SchemaJson& entry = sweep["properties"]["approaches"]["items"]["anyOf"].back();
  for (const char* key : {"file", "name", "set", "tags", "resources", "timeout", "spec"}) {
    EXPECT_TRUE(entry["properties"].contains(key)) << key;
  }
  EXPECT_FALSE(entry.contains("required")) << "a file, or metadata and spec";
  const SchemaJson& approach = Schema("approach")["properties"]["spec"]["properties"];
  EXPECT_EQ(approach["hyperparameters"]["properties"]["space"]["additionalProperties"]["properties"]
                .size(),
            5u);
  EXPECT_THAT(Schema("benchmark")["properties"]["spec"]["properties"]["format"].dump(),
              HasSubstr("qa-variants"));
  EXPECT_THAT(Schema("pool")["properties"]["spec"]["required"], Contains("provider"));
}

TEST(SchemaTest, AnUnknownKindIsAnsweredWithTheNearestAndOutWritesAFile) {
  EXPECT_THAT(RunConcur({"sweep", "schema", "sweeep"}).err, HasSubstr("(did you mean \"sweep\"?)"));
  EXPECT_THAT(RunConcur({"sweep", "schema"}).out, HasSubstr("worker-options"));
  const TempDir dir;
  EXPECT_EQ(RunConcur({"sweep", "schema", "pool", "--out", dir.File("pool.json")}).code, 0);
  EXPECT_EQ(ReadFile(dir.File("pool.json")).value_or(""),
            RunConcur({"sweep", "schema", "pool"}).out);
}

}  // namespace
}  // namespace concur::cli
