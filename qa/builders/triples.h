// SPDX-License-Identifier: Apache-2.0
// Questions on triples of a knowledge graph (WikidataSyntheticQA; Liu et al., ACL 2023). A passage
// is triples near a seed entity, each element written as one of its labels; a question is one of
// them with an element masked and labels drawn again, sometimes with its predicate inverted or its
// other entity replaced by a hypernym.
//
// TripleGraph is a value, immutable in use; the generator is thread-compatible.
#ifndef CONCUR_QA_BUILDERS_TRIPLES_H_
#define CONCUR_QA_BUILDERS_TRIPLES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "qa/builders/builder.h"
#include "qa/builders/parameters.h"

namespace concur::qa {

struct Triple {
  uint32_t subject = 0;   // an entity
  uint32_t property = 0;  // a property
  uint32_t object = 0;    // an entity

  friend auto operator<=>(const Triple&, const Triple&) = default;
};

struct TripleGraph {
  struct Property {
    std::vector<std::string> labels;  // at least one
    // Labels of the swapped triple. A symmetric property needs none; one that has none and is not
    // symmetric is never inverted.
    std::vector<std::string> inverse_labels;
    bool symmetric = false;
  };

  std::vector<std::vector<std::string>> labels;  // by entity; the seeds' are not empty
  std::vector<std::vector<uint32_t>> hypernyms;  // by entity; each has a label
  std::vector<Property> properties;
  std::vector<Triple> triples;         // all of whose elements have a label, in a fixed order
  std::vector<uint32_t> seed_ranking;  // entities that passages may start from, best first

  // The entities by PageRank over the triples taken as undirected edges, best first.
  std::vector<uint32_t> RankByPageRank() const;
};

struct TripleOptions {
  std::string name;  // the builder's: in ids, streams and messages
  int64_t train_questions = 0;
  int64_t test_questions = 0;
  int64_t train_per_passage = 0;
  int64_t train_passages = 0;  // share the train questions evenly; 0: train_per_passage on each
  int64_t test_per_passage = 0;
  int64_t triples = 0;
  double invert_rate = 0;
  double hypernym_rate = 0;
  size_t seed_entities = 0;
  // Larger neighbourhoods are sampled by rejection from their members' lists instead of being
  // listed; the distribution is the same.
  size_t listed_max = SIZE_MAX;
};

// Passages with fewer triples are not used.
inline constexpr int64_t kPassageTriplesMin = 5;

// The parameters of such a builder, and their values. `options.name` and `listed_max` are the
// caller's. InvalidArgument for values that contradict each other.
std::vector<ParameterInfo> TripleParameters();
absl::StatusOr<TripleOptions> TripleOptionsOf(const Parameters& parameters);

// REQUIRES: at least two seeds.
std::unique_ptr<Generator> MakeTripleGenerator(TripleGraph graph, TripleOptions options,
                                               uint64_t seed);

}  // namespace concur::qa

#endif  // CONCUR_QA_BUILDERS_TRIPLES_H_
