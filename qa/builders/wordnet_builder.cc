// SPDX-License-Identifier: Apache-2.0
// WikidataSyntheticQA (Liu et al., ACL 2023) over WordNet instead of Wikidata: synsets are the
// entities, synonyms their aliases, pointers the triples, hypernyms the classes. PageRank over the
// undirected pointer graph ranks the seeds.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "qa/builders/builder.h"
#include "qa/builders/triples.h"
#include "qa/builders/wordnet.h"

namespace concur::qa {
namespace {

// A property of the graph and the pointer that states it.
struct Property {
  absl::string_view symbol;
  bool symmetric;  // stated from both ends; kept once
  std::vector<std::string> labels;
  std::vector<std::string> inverse_labels;  // labels of the swapped triple; none if `symmetric`
};

// One direction of each pointer pair of WordNet: "~" (hyponym) repeats "@" (hypernym) from the
// other end, and likewise "%" and "#", "-" and ";".
const std::vector<Property>& Properties() {
  static const auto* const properties = new std::vector<Property>{
      {"@",
       false,
       {"is a kind of", "is a type of", "is a form of", "belongs to the class"},
       {"has the kind", "includes the type", "has the form", "is the class of"}},
      {"@i",
       false,
       {"is an instance of", "is an example of", "is one of the"},
       {"has the instance", "is exemplified by", "counts among its members"}},
      {"#m",
       false,
       {"is a member of", "belongs to the group", "is in the group"},
       {"has the member", "is the group of", "has in its group"}},
      {"#s",
       false,
       {"is a substance of", "is an ingredient of", "is found in"},
       {"has the substance", "has the ingredient", "is made with"}},
      {"#p",
       false,
       {"is a part of", "is a component of", "is located in"},
       {"has the part", "has the component", "is the location of"}},
      {"=", true, {"has the attribute", "is related to the quality", "is valued by"}, {}},
      {"+", true, {"is derived from", "is related in form to", "shares its root with"}, {}},
      {"!", true, {"is the opposite of", "is an antonym of", "contrasts with"}, {}},
      {"&", true, {"is similar to", "is close in meaning to", "is like"}, {}},
      {"$", true, {"is grouped with", "is in the same verb group as"}, {}},
      {";c",
       false,
       {"is a term of", "belongs to the subject", "is used in the field of"},
       {"has the term", "is the subject of", "is the field of"}},
      {";r",
       false,
       {"is used in the region", "is a word of", "is regional to"},
       {"has the regional word", "is the region of"}},
      {";u",
       false,
       {"is used as", "is an example of the usage"},
       {"is the usage of", "is seen in"}},
      {"*",
       false,
       {"entails", "implies", "requires"},
       {"is entailed by", "is implied by", "is required by"}},
      {">",
       false,
       {"causes", "brings about", "leads to"},
       {"is caused by", "is brought about by", "results from"}},
      {"<", false, {"is the participle of", "is formed from"}, {"has the participle", "forms"}},
      {"\\", false, {"pertains to", "is about"}, {"has the adjective", "is meant by"}},
  };
  return *properties;
}

TripleGraph GraphOf(const WordNet& wordnet) {
  TripleGraph graph;
  const std::vector<Property>& properties = Properties();
  for (const Property& property : properties) {
    graph.properties.push_back({property.labels, property.inverse_labels, property.symmetric});
  }
  const size_t entities = wordnet.synsets().size();
  graph.hypernyms.resize(entities);
  graph.labels.resize(entities);
  for (uint32_t entity = 0; entity < entities; ++entity) {
    for (const auto& word : wordnet.synsets()[entity].words) {
      graph.labels[entity].push_back(absl::StrReplaceAll(word, {{"_", " "}}));
    }
    for (const SynsetPointer& pointer : wordnet.synsets()[entity].pointers) {
      if (pointer.symbol == "@" || pointer.symbol == "@i") {
        graph.hypernyms[entity].push_back(pointer.target);
      }
      for (uint32_t p = 0; p < properties.size(); ++p) {
        if (properties[p].symbol == pointer.symbol && pointer.target != entity &&
            (!properties[p].symmetric || entity < pointer.target)) {
          graph.triples.push_back(Triple{entity, p, pointer.target});
        }
      }
    }
  }
  // Pointers between single words repeat the pair of synsets for each word.
  const auto key = [](const Triple& t) {
    return std::make_pair(uint64_t{t.subject} << 32 | t.object, t.property);
  };
  std::sort(graph.triples.begin(), graph.triples.end(),
            [&](const Triple& a, const Triple& b) { return key(a) < key(b); });
  graph.triples.erase(std::unique(graph.triples.begin(), graph.triples.end()), graph.triples.end());
  graph.seed_ranking = graph.RankByPageRank();
  return graph;
}

absl::StatusOr<std::unique_ptr<Generator>> MakeWordnet(const BuilderInput& input) {
  CONCUR_ASSIGN_OR_RETURN(const WordNet wordnet, WordNet::Load(input.sources));
  if (wordnet.synsets().size() < 2) {
    return absl::DataLossError(
        absl::StrCat(input.sources.paths().wordnet, ": expected at least two synsets"));
  }
  CONCUR_ASSIGN_OR_RETURN(TripleOptions options, TripleOptionsOf(input.parameters));
  options.name = "wordnet";
  input.header["split_by"] = "seed entity: none serves both train and test";
  return MakeTripleGenerator(GraphOf(wordnet), std::move(options), input.seed);
}

}  // namespace

BuilderInfo WordNetBuilder() {
  BuilderInfo info;
  info.name = "wordnet";
  info.version = "1";
  info.summary =
      "triples of WordNet's graph with one element masked, reworded (WikidataSyntheticQA)";
  info.parameters = TripleParameters();
  info.make = MakeWordnet;
  return info;
}

}  // namespace concur::qa
