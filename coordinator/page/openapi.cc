// SPDX-License-Identifier: Apache-2.0
#include "coordinator/page/openapi.h"

#include <google/protobuf/descriptor.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "base/check.h"

namespace concur::page {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using Json = nlohmann::ordered_json;

Json Text(absl::string_view format = "") {
  Json schema = {{"type", "string"}};
  if (!format.empty()) {
    schema["format"] = std::string(format);
  }
  return schema;
}

// The schemas of messages, each once.
class Schemas {
 public:
  Json Of(const Descriptor& type) {
    if (type.full_name() == "google.protobuf.Timestamp") {
      return Text("date-time");
    }
    if (type.full_name() == "google.protobuf.Duration") {
      Json schema = Text();
      schema["description"] = "seconds, as \"1.5s\"";
      return schema;
    }
    // Nested types have their outer type's name before theirs.
    const std::string name =
        absl::StrReplaceAll(type.full_name(), {{"concur.v1.", ""}, {".", "_"}});
    if (!all_.contains(name)) {
      all_[name] = nullptr;  // so that a message may have itself as a field
      Json properties = Json::object();
      for (int i = 0; i < type.field_count(); ++i) {
        properties[type.field(i)->name()] = OfField(*type.field(i));
      }
      all_[name] = {{"type", "object"}, {"properties", properties}};
    }
    return {{"$ref", absl::StrCat("#/components/schemas/", name)}};
  }

  Json OfField(const FieldDescriptor& field) {
    if (field.is_map()) {
      return {{"type", "object"},
              {"additionalProperties", OfValue(*field.message_type()->map_value())}};
    }
    return field.is_repeated() ? Json{{"type", "array"}, {"items", OfValue(field)}}
                               : OfValue(field);
  }

  Json all() const { return all_; }

 private:
  Json OfValue(const FieldDescriptor& field) {
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
      case FieldDescriptor::CPPTYPE_UINT32:
        return {{"type", "integer"}};
      case FieldDescriptor::CPPTYPE_INT64:
      case FieldDescriptor::CPPTYPE_UINT64:
        return Text("int64");  // JSON numbers have 53 bits
      case FieldDescriptor::CPPTYPE_DOUBLE:
      case FieldDescriptor::CPPTYPE_FLOAT:
        return {{"type", "number"}};
      case FieldDescriptor::CPPTYPE_BOOL:
        return {{"type", "boolean"}};
      case FieldDescriptor::CPPTYPE_ENUM: {
        Json schema = Text();
        for (int i = 0; i < field.enum_type()->value_count(); ++i) {
          schema["enum"].push_back(field.enum_type()->value(i)->name());
        }
        return schema;
      }
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return Of(*field.message_type());
      default:
        return Text(field.type() == FieldDescriptor::TYPE_BYTES ? "byte" : "");
    }
  }

  Json all_ = Json::object();
};

Json Response(const char* description, const char* type, const Json& schema) {
  return {{"description", description}, {"content", {{type, {{"schema", schema}}}}}};
}

Json WithErrors(Json ok) {
  return {{"200", std::move(ok)},
          {"default",
           Response("An error", "application/json", {{"$ref", "#/components/schemas/Error"}})}};
}

Json Body(const Json& schema) {
  return {{"required", true}, {"content", {{"application/json", {{"schema", schema}}}}}};
}

Json Parameter(const std::string& name, const Json& schema) {
  return {{"name", name}, {"in", "query"}, {"schema", schema}};
}

Json Operation(const ApiMethod& method, Schemas& schemas) {
  const google::protobuf::MethodDescriptor* descriptor =
      google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(
          absl::StrReplaceAll(method.path.substr(1), {{"/", "."}}));
  CONCUR_CHECK(descriptor != nullptr);
  const Descriptor& input = *descriptor->input_type();
  const Json output = schemas.Of(*descriptor->output_type());
  Json operation = {{"operationId", method.name()}};
  if (method.kind == ApiKind::kPost) {
    operation["requestBody"] = Body(schemas.Of(input));
  } else {
    Json parameters = Json::array();
    for (int i = 0; i < input.field_count(); ++i) {
      if (input.field(i)->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
        parameters.push_back(Parameter(input.field(i)->name(), schemas.OfField(*input.field(i))));
      }
    }
    operation["parameters"] = parameters;
  }
  operation["responses"] =
      WithErrors(method.kind == ApiKind::kEvents
                     ? Response("Events \"message\" with this as data, then \"end\" or \"error\"",
                                "text/event-stream", output)
                     : Response("The response", "application/json", output));
  return operation;
}

Json TableOperation(const char* name, bool is_matrix) {
  Json formats = {"json", "csv"};
  Json parameters = {Parameter("sweep", Text()), Parameter("metric", Text())};
  Json content = {{"application/json", Json::object()}, {"text/csv", Json::object()}};
  if (is_matrix) {
    formats.push_back("svg");
    content["image/svg+xml"] = Json::object();
    parameters.push_back(Parameter("coefficient", Text()));
    parameters.push_back(Parameter("intervals", {{"type", "boolean"}}));
  }
  parameters.push_back(Parameter("format", {{"type", "string"}, {"enum", formats}}));
  return {
      {"operationId", name},
      {"parameters", parameters},
      {"responses", WithErrors({{"description", absl::StrCat("As `concur ", name, "` writes it")},
                                {"content", content}})}};
}

Json SessionSchema() {
  return {
      {"type", "object"},
      {"properties", {{"user", Text()}, {"role", Text()}, {"version", Text()}, {"csrf", Text()}}}};
}

}  // namespace

std::string OpenApiJson(const std::vector<ApiMethod>& methods) {
  Schemas schemas;
  Json paths = Json::object();
  for (const ApiMethod& method : methods) {
    const char* verb = method.kind == ApiKind::kPost ? "post" : "get";
    paths[absl::StrCat("/", method.name())][verb] = Operation(method, schemas);
  }
  paths["/scores"]["get"] = TableOperation("scores", /*is_matrix=*/false);
  paths["/matrix"]["get"] = TableOperation("matrix", /*is_matrix=*/true);
  paths["/rank"]["get"] = TableOperation("rank", /*is_matrix=*/false);
  const Json session =
      WithErrors(Response("Who is logged in", "application/json", SessionSchema()));
  paths["/session"]["get"] = {{"operationId", "session"}, {"responses", session}};
  Json login = {{"operationId", "login"}};
  login["requestBody"] =
      Body({{"type", "object"}, {"properties", {{"code", Text()}, {"token", Text()}}}});
  login["responses"] = session;
  login["security"] = Json::array();
  paths["/login"]["post"] = login;
  paths["/logout"]["post"] = {
      {"operationId", "logout"},
      {"requestBody", Body({{"type", "object"}})},
      {"responses", WithErrors(Response("Done", "application/json", {{"type", "object"}}))}};

  Json all = schemas.all();
  all["Error"] = {
      {"type", "object"},
      {"properties",
       {{"error", {{"type", "object"}, {"properties", {{"code", Text()}, {"message", Text()}}}}}}}};
  Json document;
  document["openapi"] = "3.0.3";
  document["info"] = {{"title", "Concur"},
                      {"version", "v1"},
                      {"description",
                       "The coordinator's methods as JSON. Fields, limits and errors are those of "
                       "proto/concur/v1; docs/page.md says how to log in."}};
  document["servers"] = {{{"url", "/api/v1"}}};
  document["paths"] = paths;
  document["components"]["schemas"] = all;
  document["components"]["securitySchemes"] = {
      {"token", {{"type", "http"}, {"scheme", "bearer"}}},
      {"session", {{"type", "apiKey"}, {"in", "header"}, {"name", "X-Concur-CSRF"}}}};
  document["security"] = {{{"token", Json::array()}}, {{"session", Json::array()}}};
  return document.dump(1) + "\n";
}

}  // namespace concur::page
