// SPDX-License-Identifier: Apache-2.0
#include "qa/builders/triples.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "qa/builders/builder.h"
#include "qa/builders/sampling.h"

namespace concur::qa {
namespace {

constexpr int kPageRankRounds = 30;
constexpr double kPageRankDamping = 0.85;
constexpr int64_t kTripleDrawsMax = 200;
constexpr absl::string_view kDelimiter = " . ";

enum Element : size_t { kSubject, kPredicate, kObject, kElements };

using TriplesOf = std::vector<std::vector<uint32_t>>;

// Indexes of the triples that mention each entity.
TriplesOf IndexTriples(const TripleGraph& graph) {
  TriplesOf triples_of(graph.labels.size());
  for (uint32_t i = 0; i < graph.triples.size(); ++i) {
    triples_of[graph.triples[i].subject].push_back(i);
    triples_of[graph.triples[i].object].push_back(i);
  }
  return triples_of;
}

class TripleGenerator : public Generator {
 public:
  TripleGenerator(TripleGraph graph, TripleOptions options, uint64_t seed)
      : graph_(std::move(graph)),
        options_(std::move(options)),
        seed_(seed),
        triples_of_(IndexTriples(graph_)),
        seeds_(graph_.seed_ranking),
        mark_of_(graph_.labels.size(), 0) {
    seeds_.resize(std::min(options_.seed_entities, seeds_.size()));
    CONCUR_CHECK(seeds_.size() >= 2);
    Random random(seed, absl::StrCat(options_.name, "/seeds"));
    random.Shuffle(seeds_);
  }

  absl::Status Generate(Split split, const PassageSink& sink) override;

 private:
  using Spans = std::array<Span, kElements>;

  const std::string& Label(uint32_t entity, Random& random) const {
    const std::vector<std::string>& labels = graph_.labels[entity];
    return labels[random.Below(labels.size())];
  }
  // Triples that mention `entity` or one of its neighbours, drawn at random; empty when there are
  // fewer than kPassageTriplesMin.
  std::vector<uint32_t> DrawTriples(uint32_t entity, Random& random);
  std::vector<uint32_t> Neighbourhood(uint32_t entity) const;
  void CollectMembers(uint32_t entity);
  std::vector<uint32_t> DrawFromLists(Random& random) const;

  Passage MakePassage(const std::vector<uint32_t>& triples, Random& random,
                      std::vector<Spans>& spans) const;
  Question MakeQuestion(const Triple& triple, const Spans& spans, const std::string& context,
                        Random& random) const;
  // Number of questions on passage `number`, which begins after `made` questions.
  int64_t QuestionsOn(Split split, int64_t number, int64_t made) const;

  const TripleGraph graph_;
  const TripleOptions options_;
  const uint64_t seed_;
  const TriplesOf triples_of_;
  std::vector<uint32_t> seeds_;
  std::vector<uint32_t> mark_of_;  // by entity; mark_ for those in members_
  uint32_t mark_ = 0;
  std::vector<uint32_t> members_;
  std::vector<size_t> ends_;
  absl::flat_hash_set<Digest> contexts_;
};

std::vector<uint32_t> TripleGenerator::Neighbourhood(uint32_t entity) const {
  std::vector<uint32_t> found = triples_of_[entity];
  for (const uint32_t t : triples_of_[entity]) {
    const Triple& own = graph_.triples[t];
    const uint32_t neighbour = own.subject == entity ? own.object : own.subject;
    found.insert(found.end(), triples_of_[neighbour].begin(), triples_of_[neighbour].end());
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

// Sets `members_` to the entity and its neighbours, and `ends_` to the ends of their lists in the
// concatenation of all lists.
void TripleGenerator::CollectMembers(uint32_t entity) {
  ++mark_;
  members_ = {entity};
  mark_of_[entity] = mark_;
  for (const uint32_t t : triples_of_[entity]) {
    const Triple& own = graph_.triples[t];
    const uint32_t neighbour = own.subject == entity ? own.object : own.subject;
    if (std::exchange(mark_of_[neighbour], mark_) != mark_) {
      members_.push_back(neighbour);
    }
  }
  ends_.clear();
  size_t total = 0;
  for (const uint32_t member : members_) {
    total += triples_of_[member].size();
    ends_.push_back(total);
  }
}

// A triple is in the list of its subject and in that of its object. A position is drawn in the
// concatenation of all lists; a triple with two positions is accepted half the time, so that all
// triples are equally likely.
std::vector<uint32_t> TripleGenerator::DrawFromLists(Random& random) const {
  std::vector<uint32_t> drawn;
  absl::flat_hash_set<uint32_t> known;
  while (drawn.size() < static_cast<size_t>(options_.triples)) {
    const size_t place = random.Below(ends_.back());
    const auto list =
        static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), place) - ends_.begin());
    const std::vector<uint32_t>& triples = triples_of_[members_[list]];
    const uint32_t index = triples[place - (ends_[list] - triples.size())];
    const Triple& triple = graph_.triples[index];
    const bool twice = mark_of_[triple.subject] == mark_ && mark_of_[triple.object] == mark_;
    if ((!twice || random.Chance(0.5)) && known.insert(index).second) {
      drawn.push_back(index);
    }
  }
  return drawn;
}

std::vector<uint32_t> TripleGenerator::DrawTriples(uint32_t entity, Random& random) {
  if (options_.listed_max != SIZE_MAX) {
    CollectMembers(entity);
    // At least half of the positions have different triples: more than a passage takes.
    if (ends_.back() > std::max(options_.listed_max, 8 * static_cast<size_t>(options_.triples))) {
      return DrawFromLists(random);
    }
  }
  const std::vector<uint32_t> near = Neighbourhood(entity);
  std::vector<uint32_t> triples;
  if (static_cast<int64_t>(near.size()) < kPassageTriplesMin) {
    return triples;
  }
  const size_t count = std::min(near.size(), static_cast<size_t>(options_.triples));
  for (const uint32_t index : SampleInOrder(near.size(), count, random)) {
    triples.push_back(near[index]);
  }
  return triples;
}

Passage TripleGenerator::MakePassage(const std::vector<uint32_t>& triples, Random& random,
                                     std::vector<Spans>& spans) const {
  Passage passage;
  std::string& context = passage.context;
  for (const uint32_t index : triples) {
    const Triple& triple = graph_.triples[index];
    const std::vector<std::string>& labels = graph_.properties[triple.property].labels;
    const std::string& subject = Label(triple.subject, random);
    const std::string& predicate = labels[random.Below(labels.size())];
    const std::string& object = Label(triple.object, random);
    if (!context.empty()) {
      context.append(kDelimiter.data(), kDelimiter.size());
    }
    Spans own;
    size_t element = 0;
    for (const std::string* const text : {&subject, &predicate, &object}) {
      context.append(element == 0 ? "" : " ");
      own[element].begin = static_cast<int64_t>(context.size());
      context.append(*text);
      own[element++].end = static_cast<int64_t>(context.size());
    }
    spans.push_back(own);
  }
  context.append(" .");
  return passage;
}

Question TripleGenerator::MakeQuestion(const Triple& triple, const Spans& spans,
                                       const std::string& context, Random& random) const {
  const auto masked = static_cast<Element>(random.Below(kElements));
  // The number of draws does not depend on the rates, so that a rate changes only its own effect.
  const bool wants_inverse = random.Chance(options_.invert_rate);
  const bool wants_hypernym = random.Chance(options_.hypernym_rate);
  const TripleGraph::Property& property = graph_.properties[triple.property];
  const bool inverted = wants_inverse && masked != kPredicate &&
                        (property.symmetric || !property.inverse_labels.empty());
  const auto entity_label = [&](uint32_t entity) {
    const std::vector<uint32_t>& hypernyms = graph_.hypernyms[entity];
    if (wants_hypernym && masked != kPredicate && !hypernyms.empty()) {
      entity = hypernyms[random.Below(hypernyms.size())];
    }
    return Label(entity, random);
  };
  const std::vector<std::string>& labels =
      inverted && !property.symmetric ? property.inverse_labels : property.labels;
  const std::string mask(kMask);
  std::string first = masked == kSubject ? mask : entity_label(triple.subject);
  const std::string predicate = masked == kPredicate ? mask : labels[random.Below(labels.size())];
  std::string second = masked == kObject ? mask : entity_label(triple.object);
  if (inverted) {
    std::swap(first, second);
  }
  Question question;
  question.text = absl::StrCat(first, " ", predicate, " ", second);
  const Span span = spans[masked];
  question.answers.emplace_back(TextOf(context, span));
  question.spans.push_back(span);
  return question;
}

int64_t TripleGenerator::QuestionsOn(Split split, int64_t number, int64_t made) const {
  if (split == Split::kTest) {
    return std::min(options_.test_per_passage, options_.test_questions - made);
  }
  if (options_.train_passages == 0) {
    return std::min(options_.train_per_passage, options_.train_questions - made);
  }
  return (number + 1) * options_.train_questions / options_.train_passages - made;
}

absl::Status TripleGenerator::Generate(Split split, const PassageSink& sink) {
  const bool train = split == Split::kTrain;
  const int64_t wanted = train ? options_.train_questions : options_.test_questions;
  const int64_t all = options_.train_questions + options_.test_questions;
  // Each seed belongs to one split.
  const size_t cut =
      std::clamp<size_t>(static_cast<size_t>(static_cast<double>(seeds_.size()) *
                                             static_cast<double>(options_.train_questions) /
                                             static_cast<double>(std::max<int64_t>(all, 1))),
                         1, seeds_.size() - 1);
  const size_t begin = train ? 0 : cut;
  const size_t end = train ? cut : seeds_.size();
  Random random(seed_, absl::StrCat(options_.name, "/", SplitName(split)));
  int64_t made = 0;
  for (int64_t number = 0; made < wanted; ++number) {
    Passage passage;
    std::vector<uint32_t> triples;
    std::vector<Spans> spans;
    for (int64_t draw = 0;; ++draw) {
      if (draw == kTripleDrawsMax) {
        return absl::InvalidArgumentError(absl::StrCat(
            options_.name, ": no new ", SplitName(split), " passage after ", made, " of ", wanted,
            " questions; ask for fewer questions or more --seed-entities"));
      }
      const uint32_t entity = seeds_[begin + random.Below(end - begin)];
      triples = DrawTriples(entity, random);
      if (triples.empty()) {
        continue;
      }
      spans.clear();
      passage = MakePassage(triples, random, spans);
      if (contexts_.insert(Sha256Of(passage.context)).second) {
        passage.title = Label(entity, random);
        break;
      }
    }
    const int64_t questions = QuestionsOn(split, number, made);
    for (int64_t q = 0; q < questions; ++q) {
      const size_t chosen = random.Below(triples.size());
      passage.questions.push_back(
          MakeQuestion(graph_.triples[triples[chosen]], spans[chosen], passage.context, random));
      passage.questions.back().id =
          absl::StrCat(options_.name, "-", SplitName(split), "-", number, "-", q);
    }
    made += questions;
    CONCUR_RETURN_IF_ERROR(sink(std::move(passage)));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<uint32_t> TripleGraph::RankByPageRank() const {
  const size_t n = labels.size();
  const TriplesOf triples_of = IndexTriples(*this);
  // Only additions, multiplications and divisions in a fixed order: the same bits everywhere.
  std::vector<double> rank(n, 1.0 / static_cast<double>(n));
  std::vector<double> next(n);
  for (int round = 0; round < kPageRankRounds; ++round) {
    double dangling = 0;
    std::fill(next.begin(), next.end(), 0.0);
    for (size_t i = 0; i < n; ++i) {
      if (triples_of[i].empty()) {
        dangling += rank[i];
        continue;
      }
      const double share = rank[i] / static_cast<double>(triples_of[i].size());
      for (const uint32_t t : triples_of[i]) {
        next[triples[t].subject == i ? triples[t].object : triples[t].subject] += share;
      }
    }
    const double base =
        (1 - kPageRankDamping + kPageRankDamping * dangling) / static_cast<double>(n);
    for (size_t i = 0; i < n; ++i) {
      rank[i] = base + kPageRankDamping * next[i];
    }
  }
  std::vector<uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return rank[a] > rank[b]; });
  return order;
}

std::vector<ParameterInfo> TripleParameters() {
  return {
      CountParameter("train-questions", 10'000, 1, 10'000'000, "questions of the train set"),
      CountParameter("test-questions", 9'835, 1, 10'000'000, "questions of the test set"),
      CountParameter("train-questions-per-passage", 1, 1, 1000, "questions on a train passage"),
      CountParameter("test-questions-per-passage", 5, 1, 1000, "questions on a test passage"),
      RecordedWhereGiven(CountParameter(
          "train-passages", 0, 0, 10'000'000,
          "passages that share the train questions evenly; 0: as many as these need")),
      CountParameter("triples", 50, kPassageTriplesMin, 1000, "triples of a passage, at most"),
      CountParameter("seed-entities", 10'000, 2, 1'000'000,
                     "passages start from this many entities of highest PageRank"),
      RateParameter("invert-rate", "0.5", "share of questions whose predicate is inverted"),
      RateParameter("hypernym-rate", "0.5",
                    "share of questions whose remaining entity becomes one of its hypernyms"),
  };
}

absl::StatusOr<TripleOptions> TripleOptionsOf(const Parameters& parameters) {
  TripleOptions options;
  options.train_questions = parameters.Count("train-questions");
  options.test_questions = parameters.Count("test-questions");
  options.train_per_passage = parameters.Count("train-questions-per-passage");
  options.test_per_passage = parameters.Count("test-questions-per-passage");
  options.train_passages = parameters.Count("train-passages");
  if (options.train_passages > options.train_questions) {
    return absl::InvalidArgumentError(
        absl::StrCat("--train-passages: expected at most --train-questions, ",
                     options.train_questions, ", got ", options.train_passages));
  }
  if (options.train_passages > 0 && parameters.IsGiven("train-questions-per-passage")) {
    return absl::InvalidArgumentError(
        "expected either --train-passages or --train-questions-per-passage, got both");
  }
  options.triples = parameters.Count("triples");
  options.invert_rate = parameters.Rate("invert-rate");
  options.hypernym_rate = parameters.Rate("hypernym-rate");
  options.seed_entities = static_cast<size_t>(parameters.Count("seed-entities"));
  return options;
}

std::unique_ptr<Generator> MakeTripleGenerator(TripleGraph graph, TripleOptions options,
                                               uint64_t seed) {
  return std::make_unique<TripleGenerator>(std::move(graph), std::move(options), seed);
}

}  // namespace concur::qa
