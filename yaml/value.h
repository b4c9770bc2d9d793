// SPDX-License-Identifier: Apache-2.0
// Typed access to a YAML tree. A read returns the value or adds an error with its position, so that
// reading continues and finds further errors.
//
// Thread-compatible; the file and the error list outlive the values.
#ifndef CONCUR_YAML_VALUE_H_
#define CONCUR_YAML_VALUE_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/sweep/params.h"
#include "yaml/errors.h"
#include "yaml/shape.h"
#include "yaml/yaml_reader.h"

namespace concur::spec {

class Value {
 public:
  // `shape`, if there is one, takes down what is read.
  Value(const YamlFile& file, const YamlNode& node, std::string field, ErrorList& errors,
        Shape* shape = nullptr)
      : file_(&file),
        node_(&node),
        at_(node.at),
        field_(std::move(field)),
        errors_(&errors),
        shape_(shape) {}
  // The same value with `at` as the position of its errors.
  Value At(Position at) const {
    Value moved = *this;
    moved.at_ = at;
    return moved;
  }

  const YamlFile& file() const { return *file_; }
  const YamlNode& node() const { return *node_; }
  const std::string& field() const { return field_; }
  ErrorList& errors() const { return *errors_; }
  Shape* shape() const { return shape_; }
  bool IsScalar() const { return node_->kind == YamlNode::Kind::kScalar; }
  bool IsList() const { return node_->kind == YamlNode::Kind::kSequence; }
  bool IsMap() const { return node_->kind == YamlNode::Kind::kMap; }
  // "FILE:LINE:COL: FIELD: ".
  std::string Place() const;

  // Adds "PLACE: MESSAGE".
  void Error(absl::string_view message) const;
  // Adds "PLACE: expected WHAT, got …" with the value found.
  void Expected(absl::string_view what) const;

  // Each of these adds an error and returns nullopt when the value has another type or is out of
  // range. `what` is the expected value in words: "a name".
  std::optional<std::string> Text(absl::string_view what = "text") const;
  std::optional<bool> Bool() const;
  std::optional<int64_t> Integer(int64_t low, int64_t high) const;
  std::optional<double> Number(absl::string_view what = "a number") const;
  std::optional<absl::Duration> Duration(absl::Duration low, absl::Duration high) const;
  std::optional<int64_t> Bytes() const;
  // Thousandths of a CPU.
  std::optional<int64_t> Cpus() const;
  // A boolean, integer, real or text, by its notation.
  std::optional<ParamValue> Param() const;
  // A name that core's ValidateName accepts.
  std::optional<std::string> Name() const;
  // One of an enumeration's names, through its …FromName. `other` is added to the error: what else
  // the field may be.
  template <typename Enum>
  std::optional<Enum> OneOf(absl::StatusOr<Enum> (*from_name)(absl::string_view),
                            absl::string_view other = "") const {
    const std::optional<std::string> text = Text();
    if (!text) {
      return std::nullopt;
    }
    if (shape_ != nullptr) {
      shape_->AddChoices(from_name("").status().message());
    }
    absl::StatusOr<Enum> value = from_name(*text);
    if (!value.ok()) {
      Error(absl::StrCat(value.status().message(), other));
      return std::nullopt;
    }
    return *value;
  }
  // The path for opening the file: relative ones start at the directory of the YAML file, or of the
  // definition of the variable at their start.
  std::optional<std::string> Path() const;
  // The elements; nullopt if it is not a list.
  std::optional<std::vector<Value>> List(absl::string_view what = "a list") const;
  // The entries of a mapping with arbitrary keys; nullopt if it is not a mapping.
  struct Entry;
  std::optional<std::vector<Entry>> Entries(absl::string_view what = "a mapping") const;

 private:
  std::optional<std::string> Scalar(absl::string_view what) const;
  // Takes down that a scalar was asked for, if there is one.
  void Note(Shape::Scalar scalar, absl::string_view what = "") const;

  const YamlFile* file_;
  const YamlNode* node_;
  Position at_;
  std::string field_;
  ErrorList* errors_;
  Shape* shape_;  // null but for yaml/schema.h
};

struct Value::Entry {
  std::string key;
  Value key_value;  // errors at the key's position
  Value value;
};

// A mapping with fixed keys. Finish() adds an error for each key that was not read.
class Fields {
 public:
  // Adds an error if `value` is not a mapping; then every field is absent.
  explicit Fields(const Value& value);

  // The value of `key`, or nullopt.
  std::optional<Value> Get(absl::string_view key);
  // Adds an error if it is absent: "expected the field KEY (what it is)".
  std::optional<Value> Require(absl::string_view key, absl::string_view what);
  bool valid() const { return valid_; }
  const Value& value() const { return value_; }
  // Adds an error for each field that nobody asked for; `remedy` ends its message.
  void Finish(absl::string_view remedy = "");

 private:
  Value value_;
  bool valid_;
  std::set<std::string> known_;
  std::set<std::string> required_;
};

// Text → value, shared with the command line. InvalidArgument: "expected …, got …".
absl::StatusOr<absl::Duration> ParseDurationText(absl::string_view text);  // "90s", "10m", "1h30m"
absl::StatusOr<int64_t> ParseBytesText(absl::string_view text);            // "1GiB", "500MB", "10B"

// The envelope of every document: {apiVersion: concur/v1, kind, metadata, spec}. A wrong version or
// kind adds an error, and the result is empty.
struct Document {
  std::optional<Value> metadata;
  std::optional<Value> spec;
};
Document ReadDocument(const YamlFile& file, absl::string_view kind, bool needs_metadata,
                      ErrorList& errors);

}  // namespace concur::spec

#endif  // CONCUR_YAML_VALUE_H_
