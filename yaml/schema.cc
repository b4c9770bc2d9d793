// SPDX-License-Identifier: Apache-2.0
#include "yaml/schema.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "yaml/approach_yaml.h"
#include "yaml/benchmark_yaml.h"
#include "yaml/catalogue_yaml.h"
#include "yaml/errors.h"
#include "yaml/options_yaml.h"
#include "yaml/pools_yaml.h"
#include "yaml/sweep_yaml.h"
#include "yaml/yaml_reader.h"

namespace concur::spec {
namespace {

using ReadKind = void (*)(const YamlFile&, ErrorList&);

struct KnownKind {
  DocumentKind kind;
  ReadKind read;
};

const std::vector<KnownKind>& KnownKinds() {
  static const auto& kinds = *new std::vector<KnownKind>{
      {{"sweep", "Sweep", true}, [](const YamlFile& f, ErrorList& e) { ReadSweepFile(f, e); }},
      {{"approach", "Approach", true},
       [](const YamlFile& f, ErrorList& e) { ReadApproachFile(f, e); }},
      {{"benchmark", "Benchmark", true},
       [](const YamlFile& f, ErrorList& e) { ReadBenchmarkFile(f, e); }},
      {{"pool", "Pool", false}, [](const YamlFile& f, ErrorList& e) { ReadPoolFile(f, e); }},
      {{"coordinator-options", "CoordinatorOptions", false},
       [](const YamlFile& f, ErrorList& e) { ReadCoordinatorFile(f, e); }},
      {{"worker-options", "WorkerOptions", false},
       [](const YamlFile& f, ErrorList& e) { ReadWorkerFile(f, e); }},
      {{"data-source", "DataSource", false},
       [](const YamlFile& f, ErrorList& e) { ReadDataSourceFile(f, e); }}};
  return kinds;
}

constexpr char kEntry[] = "x";     // the key in mappings with any keys
constexpr char kElement[] = "[]";  // behind the name of a list: its elements

// Rules by which a document is made from what is known.
struct Recipe {
  YamlNode::Kind prefers = YamlNode::Kind::kMap;     // where several forms are known
  YamlNode::Kind guesses = YamlNode::Kind::kScalar;  // where none is
  size_t choice = 0;                                 // which of several fixed words
  std::string without = {};  // a field that is left out wherever it is known
  std::string alone = {};    // a field that is given without its neighbours, but for required ones
  // A field ("x"), or elements of a list ("x[]"), given in this form whatever is known of it.
  std::string forced = {};
  YamlNode::Kind form = YamlNode::Kind::kScalar;
  bool varies = true;  // mappings in lists come without each of their fields, too
};

YamlNode ScalarNode(std::string text) {
  YamlNode node;
  node.kind = YamlNode::Kind::kScalar;
  node.text = std::move(text);
  return node;
}

// A word that one of the reads accepts.
std::string SampleText(const Shape& shape, const Recipe& recipe) {
  if (!shape.choices.empty()) {
    return shape.choices[recipe.choice % shape.choices.size()];
  }
  if (shape.integer) {
    return absl::StrCat(std::max<int64_t>(shape.integer->low, 1));
  }
  const auto takes = [&](Shape::Scalar scalar) { return shape.scalars.count(scalar) > 0; };
  if (takes(Shape::Scalar::kDuration)) {
    return "1h";
  }
  if (takes(Shape::Scalar::kBytes)) {
    return "1GiB";
  }
  if (takes(Shape::Scalar::kBool)) {
    return "true";
  }
  return takes(Shape::Scalar::kNumber) || takes(Shape::Scalar::kCpus) ? "1" : "x";
}

YamlNode SampleNode(const Shape& shape, const Recipe& recipe, const std::string& name, int depth);

// Without the field `omitted`.
YamlNode SampleMap(const Shape& shape, const Recipe& recipe, const std::string& omitted,
                   int depth) {
  YamlNode node;
  node.kind = YamlNode::Kind::kMap;
  const bool has_alone = shape.fields.count(recipe.alone) > 0;
  for (const auto& [key, field] : shape.fields) {
    const bool needed = shape.required && shape.required->count(key) > 0;
    if (key != omitted && key != recipe.without && (!has_alone || key == recipe.alone || needed)) {
      node.entries.push_back({key, {}, SampleNode(*field, recipe, key, depth + 1)});
    }
  }
  if (shape.entries != nullptr) {
    node.entries.push_back({kEntry, {}, SampleNode(*shape.entries, recipe, kEntry, depth + 1)});
  }
  return node;
}

// Two elements, as some lists need; of mappings one with all fields and one without each of them,
// as a field may make others unasked for.
std::vector<YamlNode> SampleElements(const Shape& shape, const Recipe& recipe,
                                     const std::string& name, int depth) {
  std::vector<YamlNode> items = {SampleNode(shape, recipe, name, depth)};
  if (items[0].kind != YamlNode::Kind::kMap || !recipe.varies) {
    items.push_back(items[0]);
    return items;
  }
  Recipe plain = recipe;
  plain.varies = false;
  for (const auto& [key, field] : shape.fields) {
    items.push_back(SampleMap(shape, plain, key, depth));
  }
  return items;
}

// The form to give a value of, called `name`.
YamlNode::Kind FormOf(const Shape& shape, const Recipe& recipe, const std::string& name) {
  using Kind = YamlNode::Kind;
  if (name == recipe.forced) {
    return recipe.form;
  }
  if (recipe.forced == name + kElement) {
    return Kind::kSequence;
  }
  std::vector<Kind> known;
  if (shape.required || shape.entries != nullptr || !shape.fields.empty()) {
    known.push_back(Kind::kMap);
  }
  if (shape.items != nullptr) {
    known.push_back(Kind::kSequence);
  }
  if (!shape.scalars.empty() || shape.integer || !shape.choices.empty()) {
    known.push_back(Kind::kScalar);
  }
  if (known.empty()) {
    return recipe.guesses;
  }
  const bool preferred = std::find(known.begin(), known.end(), recipe.prefers) != known.end();
  return preferred ? recipe.prefers : known[0];
}

YamlNode SampleNode(const Shape& shape, const Recipe& recipe, const std::string& name, int depth) {
  const YamlNode::Kind kind = FormOf(shape, recipe, name);
  if (kind == YamlNode::Kind::kMap && depth < static_cast<int>(kYamlDepthMax)) {
    return SampleMap(shape, recipe, "", depth);
  }
  if (kind != YamlNode::Kind::kSequence) {
    return ScalarNode(SampleText(shape, recipe));
  }
  YamlNode node;
  node.kind = kind;
  if (shape.items != nullptr) {
    node.items = SampleElements(*shape.items, recipe, name + kElement, depth + 1);
  }
  return node;
}

// The names of all below `shape`, which is called `name`.
void AddNames(const Shape& shape, const std::string& name, std::set<std::string>* names) {
  names->insert(name);
  for (const auto& [key, field] : shape.fields) {
    AddNames(*field, key, names);
  }
  if (shape.items != nullptr) {
    AddNames(*shape.items, name + kElement, names);
  }
  if (shape.entries != nullptr) {
    AddNames(*shape.entries, kEntry, names);
  }
}

std::vector<Recipe> Recipes(const Shape& shape) {
  constexpr size_t kChoices = 3;
  constexpr YamlNode::Kind kKinds[] = {YamlNode::Kind::kScalar, YamlNode::Kind::kSequence,
                                       YamlNode::Kind::kMap};
  std::set<std::string> names;
  AddNames(shape, "", &names);
  names.erase("");
  std::vector<Recipe> recipes;
  for (const YamlNode::Kind kind : kKinds) {
    for (const YamlNode::Kind guesses : kKinds) {
      for (size_t choice = 0; choice < kChoices; ++choice) {
        recipes.push_back({.prefers = kind, .guesses = guesses, .choice = choice});
      }
    }
    for (const std::string& name : names) {
      recipes.push_back({.guesses = kind, .without = name});
      recipes.push_back({.guesses = kind, .alone = name});
      recipes.push_back({.forced = name, .form = kind});
    }
  }
  return recipes;
}

void ReadSample(const KnownKind& known, const Recipe& recipe, Shape* shape) {
  YamlFile file;
  file.path = "sample.yaml";
  file.directory = "/nonexistent";
  file.shape = shape;
  file.root = SampleMap(*shape, recipe, "", 0);
  std::erase_if(file.root.entries, [](const YamlNode::Entry& entry) {
    return entry.key == "apiVersion" || entry.key == "kind";
  });
  file.root.entries.push_back({"apiVersion", {}, ScalarNode("concur/v1")});
  file.root.entries.push_back({"kind", {}, ScalarNode(known.kind.kind)});
  ErrorList errors;
  known.read(file, errors);
}

}  // namespace

const std::vector<DocumentKind>& DocumentKinds() {
  static const auto& kinds = *[] {
    auto* all = new std::vector<DocumentKind>;
    for (const KnownKind& known : KnownKinds()) {
      all->push_back(known.kind);
    }
    return all;
  }();
  return kinds;
}

Shape ShapeOf(const DocumentKind& kind) {
  const auto known =
      std::find_if(KnownKinds().begin(), KnownKinds().end(),
                   [&](const KnownKind& other) { return other.kind.name == kind.name; });
  Shape shape;
  for (size_t before = shape.Size() + 1; before != shape.Size();) {
    before = shape.Size();
    for (const Recipe& recipe : Recipes(shape)) {
      ReadSample(*known, recipe, &shape);
    }
  }
  return shape;
}

}  // namespace concur::spec
