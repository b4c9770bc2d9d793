// SPDX-License-Identifier: Apache-2.0
// WikidataSyntheticQA (Liu et al., ACL 2023) over triples of Wikidata from files: plain triples
// (CoDEx) or KGTK edges, labels and aliases, P31 and P279 for hypernyms, inverse properties, and
// PageRank for the seeds.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "qa/builders/builder.h"
#include "qa/builders/triples.h"
#include "qa/json_text.h"
#include "qa/raw_stream.h"

namespace concur::qa {
namespace {

constexpr size_t kListedMax = 2000;
constexpr size_t kLabelBytesMax = 200;

// Subject, property, object, and in KGTK the edge's own id, which its qualifiers have as subject;
// "" where the file names none.
using Edge = std::array<absl::string_view, 4>;
using OnEdge = std::function<absl::Status(const Edge& edge, const std::string& place)>;

// Numbers ids in the order of their first use.
class Ids {
 public:
  uint32_t Intern(absl::string_view id) {
    const auto [it, fresh] = numbers_.emplace(std::string(id), numbers_.size());
    return static_cast<uint32_t>(it->second);
  }
  // The id's number; size() if it is unknown.
  size_t Find(absl::string_view id) const {
    const auto it = numbers_.find(id);
    return it == numbers_.end() ? numbers_.size() : it->second;
  }
  size_t size() const { return numbers_.size(); }

 private:
  absl::flat_hash_map<std::string, size_t> numbers_;
};

// Reads lines of three tab-separated fields, or KGTK edges, whose first line names the columns,
// among them node1, label and node2, and perhaps id.
absl::Status ForEachEdge(const std::string& path, const OnEdge& on_edge) {
  std::array<size_t, 3> columns = {0, 1, 2};
  size_t id_column = SIZE_MAX;
  size_t fields_min = 3;
  return ForEachTextLine(path, [&](const LineReader& lines) -> absl::Status {
    const std::vector<absl::string_view> fields = absl::StrSplit(lines.line(), '\t');
    if (lines.number() == 1 && absl::StrContains(lines.line(), "node1")) {
      fields_min = 0;
      const std::array<absl::string_view, 3> names = {"node1", "label", "node2"};
      for (size_t i = 0; i < names.size(); ++i) {
        columns[i] =
            static_cast<size_t>(std::find(fields.begin(), fields.end(), names[i]) - fields.begin());
        fields_min = std::max(fields_min, columns[i] + 1);
      }
      const auto id = std::find(fields.begin(), fields.end(), "id");
      id_column = id == fields.end() ? SIZE_MAX : static_cast<size_t>(id - fields.begin());
      return fields_min <= fields.size()
                 ? absl::OkStatus()
                 : absl::InvalidArgumentError(absl::StrCat(
                       lines.place(), ": expected the columns node1, label and node2"));
    }
    if (fields.size() < fields_min) {
      return absl::InvalidArgumentError(absl::StrCat(lines.place(), ": expected ", fields_min,
                                                     " fields between tabs, got ", fields.size()));
    }
    return on_edge({fields[columns[0]], fields[columns[1]], fields[columns[2]],
                    id_column < fields.size() ? fields[id_column] : absl::string_view()},
                   lines.place());
  });
}

// The text of a KGTK string 'master\'s thesis'@en; of anything else the text itself.
std::string TextOfKgtk(absl::string_view value) {
  const size_t end = value.rfind("'@");
  if (!absl::StartsWith(value, "'") || end == value.npos || end == 0) {
    return std::string(value);
  }
  std::string text;
  bool escaped = false;
  for (const char c : value.substr(1, end - 1)) {
    if (c == '\\' && !escaped) {
      escaped = true;
      continue;
    }
    escaped = false;
    text.push_back(c);
  }
  return text;
}

// Labels of entities and properties, by id.
class Labels {
 public:
  void Add(absl::string_view id, absl::string_view text) {
    text = absl::StripAsciiWhitespace(text);
    if (text.empty() || text.size() > kLabelBytesMax) {
      return;
    }
    std::vector<std::string>& labels = labels_[std::string(id)];
    if (std::find(labels.begin(), labels.end(), text) == labels.end()) {
      labels.emplace_back(text);
    }
  }
  // Empty when there is none.
  std::vector<std::string> Of(absl::string_view id) const {
    const auto it = labels_.find(id);
    return it == labels_.end() ? std::vector<std::string>() : it->second;
  }

  absl::Status Read(const std::string& path);

 private:
  absl::Status ReadJson(const std::string& path, const std::string& contents);

  absl::flat_hash_map<std::string, std::vector<std::string>> labels_;
};

// {"ID": {"label": "…", "alternatives": ["…"], "wikidata_id": "Q1"}}; the last two may be absent.
absl::Status Labels::ReadJson(const std::string& path, const std::string& contents) {
  const nlohmann::json document = nlohmann::json::parse(contents, nullptr, false);
  if (!document.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected a JSON object of labels: ", ExplainJsonError(contents)));
  }
  for (const auto& [key, value] : document.items()) {
    if (!value.is_object() || !value.contains("label") || !value["label"].is_string()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": ", Shown(key), ": expected an object with a label"));
    }
    std::string id = key;
    if (value.contains("wikidata_id") && value["wikidata_id"].is_string()) {
      id = value["wikidata_id"].get<std::string>();
    }
    Add(id, value["label"].get_ref<const std::string&>());
    if (value.contains("alternatives") && value["alternatives"].is_array()) {
      for (const nlohmann::json& alias : value["alternatives"]) {
        if (alias.is_string()) {
          Add(id, alias.get_ref<const std::string&>());
        }
      }
    }
  }
  return absl::OkStatus();
}

absl::Status Labels::Read(const std::string& path) {
  if (absl::EndsWith(path, ".json")) {
    CONCUR_ASSIGN_OR_RETURN(const std::string contents, ReadFile(path));
    return ReadJson(path, contents);
  }
  return ForEachEdge(path, [&](const Edge& edge, const std::string&) {
    Add(edge[0], TextOfKgtk(edge[2]));
    return absl::OkStatus();
  });
}

bool IsHypernymProperty(absl::string_view property) {
  return property == "P31" || property == "P279";
}

class GraphReader {
 public:
  explicit GraphReader(const BuilderInput& input) : input_(input) {}

  absl::StatusOr<TripleGraph> Read();

 private:
  std::vector<std::string> Files(absl::string_view parameter) const {
    return absl::StrSplit(input_.parameters.Text(parameter), ',', absl::SkipEmpty());
  }
  // Calls `read` with each file of a parameter, and records it.
  absl::Status ForEachFile(absl::string_view parameter,
                           const std::function<absl::Status(const std::string&)>& read) {
    for (const std::string& path : Files(parameter)) {
      CONCUR_RETURN_IF_ERROR(read(path));
      CONCUR_RETURN_IF_ERROR(input_.sources.RecordOwn(path));
    }
    return absl::OkStatus();
  }
  absl::Status ReadTriples();
  absl::Status ReadHypernyms();
  absl::Status ReadInverses();
  absl::Status RankSeeds();

  const BuilderInput& input_;
  Labels labels_;
  Ids entities_;
  Ids properties_;
  TripleGraph graph_;
  int64_t triples_read_ = 0;
};

// Keeps triples all of whose elements have a label.
absl::Status GraphReader::ReadTriples() {
  const auto entity = [&](absl::string_view id) {
    const uint32_t number = entities_.Intern(id);
    if (number == graph_.labels.size()) {
      graph_.labels.push_back(labels_.Of(id));
    }
    return number;
  };
  CONCUR_RETURN_IF_ERROR(ForEachFile("graph", [&](const std::string& path) {
    return ForEachEdge(path, [&](const Edge& edge, const std::string&) {
      ++triples_read_;
      const uint32_t property = properties_.Intern(edge[1]);
      if (property == graph_.properties.size()) {
        graph_.properties.push_back({labels_.Of(edge[1]), {}, false});
      }
      const uint32_t subject = entity(edge[0]);
      const uint32_t object = entity(edge[2]);
      if (subject != object && !graph_.labels[subject].empty() && !graph_.labels[object].empty() &&
          !graph_.properties[property].labels.empty()) {
        graph_.triples.push_back({subject, property, object});
      }
      return absl::OkStatus();
    });
  }));
  std::sort(graph_.triples.begin(), graph_.triples.end());
  graph_.triples.erase(std::unique(graph_.triples.begin(), graph_.triples.end()),
                       graph_.triples.end());
  input_.header["triples.read"] = absl::StrCat(triples_read_);
  input_.header["triples.with_labels"] = absl::StrCat(graph_.triples.size());
  return absl::OkStatus();
}

absl::Status GraphReader::ReadHypernyms() {
  graph_.hypernyms.resize(graph_.labels.size());
  const size_t mentioned = graph_.labels.size();
  const auto add = [&](const Edge& edge, const std::string&) {
    const size_t entity = entities_.Find(edge[0]);
    if (entity >= mentioned || !IsHypernymProperty(edge[1])) {
      return absl::OkStatus();
    }
    const uint32_t hypernym = entities_.Intern(edge[2]);
    if (hypernym == graph_.labels.size()) {
      graph_.labels.push_back(labels_.Of(edge[2]));
      graph_.hypernyms.emplace_back();
    }
    std::vector<uint32_t>& hypernyms = graph_.hypernyms[entity];
    if (!graph_.labels[hypernym].empty() &&
        std::find(hypernyms.begin(), hypernyms.end(), hypernym) == hypernyms.end()) {
      hypernyms.push_back(hypernym);
    }
    return absl::OkStatus();
  };
  for (const Triple& triple : graph_.triples) {
    if (triple.property == properties_.Find("P31") || triple.property == properties_.Find("P279")) {
      graph_.hypernyms[triple.subject].push_back(triple.object);
    }
  }
  return ForEachFile("hypernyms", [&](const std::string& path) { return ForEachEdge(path, add); });
}

// Reads what properties' own statements say of their inverses:
//   PROPERTY P1696 INVERSE            inverse property; taken both ways
//   PROPERTY P2302 Q21510855          inverse constraint, whose qualifier P2306 is the inverse
//   PROPERTY P2302 Q21510862          symmetric constraint
//   PROPERTY P7087 ITEM               the item whose label is the inverse's
// A property that is its own inverse is symmetric. Of several the first kind of this list counts.
absl::Status GraphReader::ReadInverses() {
  const auto set = [&](absl::string_view property, absl::string_view inverse) {
    const size_t number = properties_.Find(property);
    if (number < graph_.properties.size()) {
      TripleGraph::Property& found = graph_.properties[number];
      if (found.inverse_labels.empty()) {
        found.inverse_labels = labels_.Of(inverse);
        found.symmetric = property == inverse;
      }
    }
  };
  std::vector<std::pair<std::string, std::string>> constraints;  // property, edge id
  absl::flat_hash_map<std::string, std::string> qualifiers;      // P2306 by edge id
  std::vector<std::string> symmetric;                            // properties
  std::vector<std::pair<std::string, std::string>> items;        // property, P7087
  CONCUR_RETURN_IF_ERROR(ForEachFile("inverses", [&](const std::string& path) {
    return ForEachEdge(path, [&](const Edge& edge, const std::string&) {
      const auto& [subject, property, object, id] = edge;
      if (property == "P1696") {
        set(subject, object);
        set(object, subject);
      } else if (property == "P2302" && object == "Q21510855" && !id.empty()) {
        constraints.emplace_back(std::string(subject), std::string(id));
      } else if (property == "P2302" && object == "Q21510862") {
        symmetric.emplace_back(subject);
      } else if (property == "P2306") {
        qualifiers.emplace(std::string(subject), std::string(object));
      } else if (property == "P7087") {
        items.emplace_back(std::string(subject), std::string(object));
      }
      return absl::OkStatus();
    });
  }));
  for (const auto& [property, id] : constraints) {
    if (const auto inverse = qualifiers.find(id); inverse != qualifiers.end()) {
      set(property, inverse->second);
    }
  }
  for (const std::string& property : symmetric) {
    set(property, property);
  }
  for (const auto& [property, item] : items) {
    set(property, item);
  }
  return absl::OkStatus();
}

// Ranks entities by the file, or by PageRank over the triples if there is none.
absl::Status GraphReader::RankSeeds() {
  std::vector<bool> in_triples(graph_.labels.size(), false);
  for (const Triple& triple : graph_.triples) {
    in_triples[triple.subject] = true;
    in_triples[triple.object] = true;
  }
  if (Files("pagerank").empty()) {
    graph_.seed_ranking = graph_.RankByPageRank();
    std::erase_if(graph_.seed_ranking, [&](uint32_t entity) { return !in_triples[entity]; });
    return absl::OkStatus();
  }
  std::vector<std::pair<double, uint32_t>> ranks;
  CONCUR_RETURN_IF_ERROR(ForEachFile("pagerank", [&](const std::string& path) {
    return ForEachEdge(path, [&](const Edge& edge, const std::string& place) -> absl::Status {
      const size_t entity = entities_.Find(edge[0]);
      if (!absl::StrContains(edge[1], "pagerank")) {
        return absl::OkStatus();  // a qualifier of a rank
      }
      double rank = 0;
      if (!absl::SimpleAtod(edge[2], &rank) || !(rank >= 0 && rank <= 1)) {
        return absl::InvalidArgumentError(
            absl::StrCat(place, ": expected a PageRank from 0 to 1, got ", Shown(edge[2])));
      }
      if (entity < in_triples.size() && in_triples[entity]) {
        ranks.emplace_back(rank, static_cast<uint32_t>(entity));
      }
      return absl::OkStatus();
    });
  }));
  std::stable_sort(ranks.begin(), ranks.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [rank, entity] : ranks) {
    graph_.seed_ranking.push_back(entity);
  }
  return absl::OkStatus();
}

absl::StatusOr<TripleGraph> GraphReader::Read() {
  for (const absl::string_view parameter : {"labels", "aliases"}) {
    CONCUR_RETURN_IF_ERROR(
        ForEachFile(parameter, [&](const std::string& path) { return labels_.Read(path); }));
  }
  CONCUR_RETURN_IF_ERROR(ReadTriples());
  if (graph_.triples.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "wikidata: --labels and --aliases name both entities and the property of none of the ",
        triples_read_, " triples"));
  }
  CONCUR_RETURN_IF_ERROR(ReadHypernyms());
  CONCUR_RETURN_IF_ERROR(ReadInverses());
  CONCUR_RETURN_IF_ERROR(RankSeeds());
  if (graph_.seed_ranking.size() < 2) {
    return absl::InvalidArgumentError(
        "wikidata: --pagerank: expected the ranks of at least two entities of the triples");
  }
  input_.header["entities"] = absl::StrCat(graph_.seed_ranking.size());
  return std::move(graph_);
}

absl::StatusOr<std::unique_ptr<Generator>> MakeWikidata(const BuilderInput& input) {
  for (const absl::string_view parameter : {"graph", "labels"}) {
    if (input.parameters.Text(parameter).empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("wikidata: --", parameter, ": expected at least one file"));
    }
  }
  CONCUR_ASSIGN_OR_RETURN(TripleGraph graph, GraphReader(input).Read());
  CONCUR_ASSIGN_OR_RETURN(TripleOptions options, TripleOptionsOf(input.parameters));
  options.name = "wikidata";
  options.listed_max = kListedMax;
  input.header["split_by"] = "seed entity: none serves both train and test";
  return MakeTripleGenerator(std::move(graph), std::move(options), input.seed);
}

}  // namespace

BuilderInfo WikidataBuilder() {
  BuilderInfo info;
  info.name = "wikidata";
  info.version = "1";
  info.summary = "triples of Wikidata with one element masked, reworded (WikidataSyntheticQA)";
  info.parameters = TripleParameters();
  for (ParameterInfo& file : std::vector<ParameterInfo>{
           FilesParameter("graph", "lines SUBJECT, PROPERTY, OBJECT, or KGTK edges"),
           FilesParameter("labels", "of entities and properties: KGTK edges or JSON"),
           FilesParameter("aliases", "the same form"),
           FilesParameter("hypernyms", "P31 and P279 edges, beside those of the triples"),
           FilesParameter("inverses",
                          "P1696, P2302 and P7087 edges of properties; without them none is "
                          "inverted"),
           FilesParameter("pagerank", "KGTK edges; without them it is computed")}) {
    info.parameters.push_back(std::move(file));
  }
  info.make = MakeWikidata;
  return info;
}

}  // namespace concur::qa
