// SPDX-License-Identifier: Apache-2.0
#include "yaml/value.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/escape.h"
#include "base/suggest.h"
#include "core/sweep/sweep.h"

namespace concur::spec {
namespace {

constexpr char kDurationText[] = "a duration such as 90s, 10m or 1h30m";
constexpr char kBytesText[] = "a size such as 500MB or 1GiB";

// Message about {train} without quotes, which YAML reads as the mapping of "train" to nothing.
std::optional<std::string> BarePlaceholder(const YamlNode& node) {
  constexpr size_t kNameBytesMax = 60;
  if (node.entries.size() != 1 || node.entries[0].value.kind != YamlNode::Kind::kNull) {
    return std::nullopt;
  }
  const std::string& name = node.entries[0].key;
  bool simple = !name.empty() && name.size() <= kNameBytesMax;
  for (const char c : name) {
    simple = simple && (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.');
  }
  if (!simple) {
    return std::nullopt;
  }
  return absl::StrCat("the mapping {", name, "}; quote it: \"{", name, "}\"");
}

std::string Got(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kScalar:
      return Quoted(node.text);
    case YamlNode::Kind::kSequence:
      return "a list";
    case YamlNode::Kind::kMap:
      return BarePlaceholder(node).value_or("a mapping");
  }
  return "";
}

bool IsDigits(absl::string_view text) {
  for (char c : text) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) {
      return false;
    }
  }
  return !text.empty();
}

enum class NumberForm { kNone, kInteger, kReal, kAmbiguous };

// The type of a plain scalar by its notation. Notations that YAML versions read differently (007,
// 0x1F, 1_000, .inf) are ambiguous.
NumberForm FormOf(absl::string_view text) {
  absl::string_view digits = text;
  const bool signed_text = !digits.empty() && (digits[0] == '-' || digits[0] == '+');
  if (signed_text) {
    digits.remove_prefix(1);
  }
  if (IsDigits(digits)) {
    return digits.size() > 1 && digits[0] == '0' ? NumberForm::kAmbiguous : NumberForm::kInteger;
  }
  const std::string lower = absl::AsciiStrToLower(digits);
  if (lower == ".inf" || lower == ".nan" ||
      (!digits.empty() && absl::ascii_isdigit(static_cast<unsigned char>(digits[0])) &&
       (absl::StartsWith(lower, "0x") || absl::StartsWith(lower, "0o") ||
        (absl::StrContains(lower, "_") &&
         lower.find_first_not_of("0123456789_") == std::string::npos)))) {
    return NumberForm::kAmbiguous;
  }
  // [digits][.digits][e[sign]digits] with at least one digit before the exponent.
  size_t i = 0;
  size_t mantissa_digits = 0;
  const auto skip_digits = [&] {
    const size_t start = i;
    while (i < digits.size() && absl::ascii_isdigit(static_cast<unsigned char>(digits[i]))) {
      ++i;
    }
    return i - start;
  };
  mantissa_digits += skip_digits();
  if (i < digits.size() && digits[i] == '.') {
    ++i;
    mantissa_digits += skip_digits();
  }
  if (mantissa_digits == 0) {
    return NumberForm::kNone;
  }
  if (i < digits.size() && (digits[i] == 'e' || digits[i] == 'E')) {
    ++i;
    if (i < digits.size() && (digits[i] == '-' || digits[i] == '+')) {
      ++i;
    }
    if (skip_digits() == 0) {
      return NumberForm::kNone;
    }
  }
  return i == digits.size() ? NumberForm::kReal : NumberForm::kNone;
}

std::string RangeText(absl::string_view what, int64_t low, int64_t high) {
  if (high == std::numeric_limits<int64_t>::max()) {
    return low == std::numeric_limits<int64_t>::min() ? std::string(what)
                                                      : absl::StrCat(what, " of at least ", low);
  }
  return absl::StrCat(what, " from ", low, " to ", high);
}

}  // namespace

std::string Value::Place() const { return PlaceText(file_->path, at_, field_); }

void Value::Error(absl::string_view message) const {
  errors_->Add(file_->path, at_, field_, message);
}

void Value::Expected(absl::string_view what) const {
  Error(absl::StrCat("expected ", what, ", got ", Got(*node_)));
}

std::optional<std::string> Value::Scalar(absl::string_view what) const {
  if (!IsScalar()) {
    Expected(what);
    return std::nullopt;
  }
  return node_->text;
}

void Value::Note(Shape::Scalar scalar, absl::string_view what) const {
  if (shape_ != nullptr && IsScalar()) {
    shape_->AddScalar(scalar);
    shape_->AddAbout(what);
  }
}

std::optional<std::string> Value::Text(absl::string_view what) const {
  Note(Shape::Scalar::kText, what == "text" ? "" : what);
  return Scalar(what);
}

std::optional<bool> Value::Bool() const {
  Note(Shape::Scalar::kBool);
  if (IsScalar() && node_->plain && (node_->text == "true" || node_->text == "false")) {
    return node_->text == "true";
  }
  Expected("true or false");
  return std::nullopt;
}

std::optional<int64_t> Value::Integer(int64_t low, int64_t high) const {
  if (shape_ != nullptr && IsScalar()) {
    shape_->AddInteger(low, high);
  }
  int64_t number = 0;
  if (!IsScalar() || !node_->plain || FormOf(node_->text) != NumberForm::kInteger ||
      !absl::SimpleAtoi(node_->text, &number) || number < low || number > high) {
    Expected(RangeText("a whole number", low, high));
    return std::nullopt;
  }
  return number;
}

std::optional<double> Value::Number(absl::string_view what) const {
  Note(Shape::Scalar::kNumber, what == "a number" ? "" : what);
  double number = 0;
  if (IsScalar() && node_->plain) {
    const NumberForm form = FormOf(node_->text);
    if ((form == NumberForm::kInteger || form == NumberForm::kReal) &&
        absl::SimpleAtod(node_->text, &number) && std::isfinite(number)) {
      return number;
    }
  }
  Expected(what);
  return std::nullopt;
}

std::optional<absl::Duration> Value::Duration(absl::Duration low, absl::Duration high) const {
  Note(Shape::Scalar::kDuration, kDurationText);
  if (!IsScalar()) {
    Expected(kDurationText);
    return std::nullopt;
  }
  const absl::StatusOr<absl::Duration> duration = ParseDurationText(node_->text);
  if (!duration.ok()) {
    Error(duration.status().message());
    return std::nullopt;
  }
  if (*duration < low || *duration > high) {
    Error(absl::StrCat("expected a duration from ", absl::FormatDuration(low), " to ",
                       absl::FormatDuration(high), ", got ", Quoted(node_->text)));
    return std::nullopt;
  }
  return *duration;
}

std::optional<int64_t> Value::Bytes() const {
  Note(Shape::Scalar::kBytes, kBytesText);
  if (!IsScalar()) {
    Expected(kBytesText);
    return std::nullopt;
  }
  const absl::StatusOr<int64_t> bytes = ParseBytesText(node_->text);
  if (!bytes.ok()) {
    Error(bytes.status().message());
    return std::nullopt;
  }
  return *bytes;
}

std::optional<int64_t> Value::Cpus() const {
  Note(Shape::Scalar::kCpus);
  const std::string what =
      absl::StrCat("a number of CPUs from 0 to ", kCpuMillisMax / 1000, " with at most 3 decimals");
  const std::optional<double> cpus = Number(what);
  if (!cpus) {
    return std::nullopt;
  }
  const double millis = std::round(*cpus * 1000);
  if (*cpus < 0 || millis > kCpuMillisMax ||
      std::abs(millis - *cpus * 1000) > 1e-6 * (1 + millis)) {
    Expected(what);
    return std::nullopt;
  }
  return static_cast<int64_t>(millis);
}

std::optional<ParamValue> Value::Param() const {
  Note(Shape::Scalar::kParam);
  if (!IsScalar()) {
    Expected("true, false, a number or text");
    return std::nullopt;
  }
  const std::string& text = node_->text;
  if (!node_->plain) {
    return ParamValue(text);
  }
  if (text == "true" || text == "false") {
    return ParamValue(text == "true");
  }
  switch (FormOf(text)) {
    case NumberForm::kNone:
      return ParamValue(text);
    case NumberForm::kAmbiguous:
      Error(absl::StrCat("expected a plain decimal number, got ", Quoted(text),
                         "; write it in decimal, or in quotes when it is text"));
      return std::nullopt;
    case NumberForm::kInteger: {
      int64_t number = 0;
      if (absl::SimpleAtoi(text, &number)) {
        return NumberWrittenAs(number, text);
      }
      break;
    }
    case NumberForm::kReal: {
      double number = 0;
      if (absl::SimpleAtod(text, &number) && std::isfinite(number)) {
        return NumberWrittenAs(number, text);
      }
      break;
    }
  }
  Error(absl::StrCat("expected a number in range, got ", Quoted(text),
                     "; put it in quotes when it is text"));
  return std::nullopt;
}

std::optional<std::string> Value::Name() const {
  Note(Shape::Scalar::kName);
  std::optional<std::string> name = Text("a name");
  if (!name) {
    return std::nullopt;
  }
  const absl::Status valid = ValidateName(*name);
  if (!valid.ok()) {
    Error(valid.message());
    return std::nullopt;
  }
  return name;
}

std::optional<std::string> Value::Path() const {
  Note(Shape::Scalar::kPath);
  const std::optional<std::string> text = Text("a path");
  if (!text) {
    return std::nullopt;
  }
  if (text->empty()) {
    Expected("a path");
    return std::nullopt;
  }
  const std::filesystem::path path(*text);
  if (path.is_absolute()) {
    return path.lexically_normal().string();
  }
  const std::string& base = node_->path_base.empty() ? file_->directory : node_->path_base;
  return (std::filesystem::path(base) / path).lexically_normal().string();
}

std::optional<std::vector<Value>> Value::List(absl::string_view what) const {
  if (!IsList()) {
    Expected(what);
    return std::nullopt;
  }
  Shape* below = nullptr;
  if (shape_ != nullptr) {
    below = &shape_->Items();
    shape_->AddAbout(what == "a list" ? "" : what);
  }
  std::vector<Value> values;
  values.reserve(node_->items.size());
  for (size_t i = 0; i < node_->items.size(); ++i) {
    Value item(*file_, node_->items[i], FieldPath(field_, i), *errors_, below);
    if (item.node().kind == YamlNode::Kind::kNull && item.at_.line == 0) {
      item.at_ = at_;
    }
    values.push_back(std::move(item));
  }
  return values;
}

std::optional<std::vector<Value::Entry>> Value::Entries(absl::string_view what) const {
  if (!IsMap()) {
    Expected(what);
    return std::nullopt;
  }
  Shape* below = nullptr;
  if (shape_ != nullptr) {
    below = &shape_->Entries();
    shape_->AddAbout(what == "a mapping" ? "" : what);
  }
  std::vector<Entry> entries;
  entries.reserve(node_->entries.size());
  for (const YamlNode::Entry& entry : node_->entries) {
    const Value value(*file_, entry.value, FieldPath(field_, entry.key), *errors_, below);
    entries.push_back({entry.key, value.At(entry.key_at), value});
  }
  return entries;
}

Fields::Fields(const Value& value) : value_(value), valid_(value.IsMap()) {
  if (!valid_) {
    value.Expected("a mapping");
  }
}

std::optional<Value> Fields::Get(absl::string_view key) {
  known_.emplace(key);
  if (!valid_) {
    return std::nullopt;
  }
  Shape* const shape = value_.shape() == nullptr ? nullptr : &value_.shape()->Field(key);
  for (const YamlNode::Entry& entry : value_.node().entries) {
    if (entry.key == key) {
      return Value(value_.file(), entry.value, FieldPath(value_.field(), entry.key),
                   value_.errors(), shape);
    }
  }
  return std::nullopt;
}

std::optional<Value> Fields::Require(absl::string_view key, absl::string_view what) {
  std::optional<Value> value = Get(key);
  if (value_.shape() != nullptr) {
    required_.emplace(key);
    value_.shape()->Field(key).AddAbout(what);
  }
  if (!value && valid_) {
    value_.Error(absl::StrCat("expected the field \"", key, "\" (", what, "), got none"));
  }
  return value;
}

void Fields::Finish(absl::string_view remedy) {
  if (!valid_) {
    return;
  }
  if (value_.shape() != nullptr) {
    value_.shape()->AddReading(required_);
  }
  const std::vector<std::string> known(known_.begin(), known_.end());
  for (const YamlNode::Entry& entry : value_.node().entries) {
    if (known_.count(entry.key) != 0) {
      continue;
    }
    std::string suggestion = DidYouMean(entry.key, known);
    if (suggestion.empty()) {
      suggestion = absl::StrCat("; known are ", absl::StrJoin(known, ", "));
    }
    const std::string path = FieldPath(value_.field(), entry.key);
    Value(value_.file(), entry.value, path, value_.errors())
        .At(entry.key_at)
        .Error(absl::StrCat("expected a known field, got ", Quoted(entry.key), suggestion, remedy));
  }
}

absl::StatusOr<absl::Duration> ParseDurationText(absl::string_view text) {
  absl::Duration duration;
  if (IsDigits(text)) {
    return absl::InvalidArgumentError(absl::StrCat("expected a duration with a unit, got ",
                                                   Quoted(text), "; write ", text.substr(0, 20),
                                                   "s for seconds"));
  }
  // The library accepts "inf" and signs; this format does not.
  if (text.empty() || !absl::ascii_isdigit(static_cast<unsigned char>(text[0])) ||
      !absl::ParseDuration(text, &duration) || duration == absl::InfiniteDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a duration such as 90s, 10m or 1h30m, got ", Quoted(text)));
  }
  return duration;
}

absl::StatusOr<int64_t> ParseBytesText(absl::string_view text) {
  struct Unit {
    absl::string_view name;
    int64_t bytes;
  };
  static constexpr Unit kUnits[] = {{"KiB", int64_t{1} << 10},
                                    {"MiB", int64_t{1} << 20},
                                    {"GiB", int64_t{1} << 30},
                                    {"TiB", int64_t{1} << 40},
                                    {"KB", 1'000},
                                    {"kB", 1'000},
                                    {"MB", 1'000'000},
                                    {"GB", int64_t{1'000'000'000}},
                                    {"TB", int64_t{1'000'000'000'000}},
                                    {"B", 1}};
  constexpr double kBytesMax = 1e18;
  if (text == "0") {
    return 0;
  }
  for (const Unit& unit : kUnits) {
    absl::string_view number = text;
    double count = 0;
    if (!absl::ConsumeSuffix(&number, unit.name)) {
      continue;
    }
    number = absl::StripTrailingAsciiWhitespace(number);
    const NumberForm form = FormOf(number);
    if ((form != NumberForm::kInteger && form != NumberForm::kReal) ||
        !absl::SimpleAtod(number, &count) || !(count >= 0)) {
      break;
    }
    const double bytes = count * static_cast<double>(unit.bytes);
    if (bytes > kBytesMax) {
      break;
    }
    return static_cast<int64_t>(std::llround(bytes));
  }
  if (IsDigits(text)) {
    return absl::InvalidArgumentError(absl::StrCat("expected a size with a unit, got ",
                                                   Quoted(text), "; write ", text.substr(0, 20),
                                                   "MiB or ", text.substr(0, 20), "GiB"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "expected a size such as 500MB or 1GiB (units B, KB, MB, GB, TB, KiB, MiB, GiB, TiB), got ",
      Quoted(text)));
}

Document ReadDocument(const YamlFile& file, absl::string_view kind, bool needs_metadata,
                      ErrorList& errors) {
  Document document;
  const Value root(file, file.root, "", errors, file.shape);
  Fields fields(root);
  if (!fields.valid()) {
    return document;
  }
  const auto check = [&](absl::string_view key, absl::string_view expected) {
    const std::optional<Value> value = fields.Require(key, expected);
    const bool right = value && value->IsScalar() && value->node().text == expected;
    if (value && !right) {
      value->Expected(expected);
    }
    return right;
  };
  const bool right_version = check("apiVersion", "concur/v1");
  if (!check("kind", kind) || !right_version) {
    return document;  // the fields of another kind would only add errors
  }
  document.metadata =
      needs_metadata ? fields.Require("metadata", "its name and tags") : fields.Get("metadata");
  document.spec = fields.Require("spec", "what it is");
  fields.Finish();
  return document;
}

}  // namespace concur::spec
