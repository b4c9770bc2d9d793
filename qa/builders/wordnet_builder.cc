// WikidataSyntheticQA (Liu et al., ACL 2023) over WordNet instead of Wikidata: synsets are the
// entities, synonyms their aliases, pointers the triples, hypernyms the classes. PageRank over the
// undirected pointer graph ranks the seeds.
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
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "qa/builders/builder.h"
#include "qa/builders/sampling.h"
#include "qa/builders/wordnet.h"

namespace concur::qa {
namespace {

constexpr int kPageRankRounds = 30;
constexpr double kPageRankDamping = 0.85;
constexpr int64_t kTriplesMin = 5;  // a passage of fewer triples is no reading task
constexpr int64_t kDrawsPerPassageMax = 200;
constexpr absl::string_view kDelimiter = " . ";

struct Property {
  absl::string_view symbol;
  bool symmetric;  // stated from both ends; kept once
  std::vector<absl::string_view> labels;
  std::vector<absl::string_view> inverse_labels;  // of the swapped triple; of a symmetric property
                                                  // the same
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

struct Triple {
  uint32_t subject = 0;
  uint32_t object = 0;
  uint8_t property = 0;
};

enum Element : size_t { kSubject, kPredicate, kObject, kElements };

class Graph {
 public:
  explicit Graph(const WordNet& wordnet) : wordnet_(wordnet) {
    CollectTriples();
    IndexTriples();
  }

  size_t entities() const { return wordnet_.synsets().size(); }
  const Triple& triple(uint32_t index) const { return triples_[index]; }
  const std::vector<uint32_t>& TriplesOf(uint32_t entity) const { return triples_of_[entity]; }
  const std::vector<uint32_t>& HypernymsOf(uint32_t entity) const { return hypernyms_[entity]; }

  std::string Label(uint32_t entity, Random& random) const {
    const auto& words = wordnet_.synsets()[entity].words;
    return absl::StrReplaceAll(words[random.Below(words.size())], {{"_", " "}});
  }

  // The entities with the highest PageRank, best first.
  std::vector<uint32_t> MostCentral(size_t count) const;
  // The triples that mention `entity` or one of its neighbours, by index.
  std::vector<uint32_t> Neighbourhood(uint32_t entity) const;

 private:
  void CollectTriples();
  void IndexTriples();

  const WordNet& wordnet_;
  std::vector<Triple> triples_;
  std::vector<std::vector<uint32_t>> triples_of_;
  std::vector<std::vector<uint32_t>> hypernyms_;
};

void Graph::CollectTriples() {
  const std::vector<Property>& properties = Properties();
  hypernyms_.resize(entities());
  for (uint32_t entity = 0; entity < entities(); ++entity) {
    for (const SynsetPointer& pointer : wordnet_.synsets()[entity].pointers) {
      if (pointer.symbol == "@" || pointer.symbol == "@i") {
        hypernyms_[entity].push_back(pointer.target);
      }
      for (size_t p = 0; p < properties.size(); ++p) {
        if (properties[p].symbol == pointer.symbol && pointer.target != entity &&
            (!properties[p].symmetric || entity < pointer.target)) {
          triples_.push_back(Triple{entity, pointer.target, static_cast<uint8_t>(p)});
        }
      }
    }
  }
  // Pointers between single words of two synsets repeat the pair once a word.
  const auto key = [](const Triple& t) {
    return std::make_pair(uint64_t{t.subject} << 32 | t.object, t.property);
  };
  std::sort(triples_.begin(), triples_.end(),
            [&](const Triple& a, const Triple& b) { return key(a) < key(b); });
  triples_.erase(std::unique(triples_.begin(), triples_.end(),
                             [&](const Triple& a, const Triple& b) { return key(a) == key(b); }),
                 triples_.end());
}

void Graph::IndexTriples() {
  triples_of_.resize(entities());
  for (uint32_t i = 0; i < triples_.size(); ++i) {
    triples_of_[triples_[i].subject].push_back(i);
    triples_of_[triples_[i].object].push_back(i);
  }
}

std::vector<uint32_t> Graph::MostCentral(size_t count) const {
  const size_t n = entities();
  // Only additions, multiplications and divisions in a fixed order: the same bits everywhere.
  std::vector<double> rank(n, 1.0 / static_cast<double>(n));
  std::vector<double> next(n);
  for (int round = 0; round < kPageRankRounds; ++round) {
    double dangling = 0;
    std::fill(next.begin(), next.end(), 0.0);
    for (size_t i = 0; i < n; ++i) {
      if (triples_of_[i].empty()) {
        dangling += rank[i];
        continue;
      }
      const double share = rank[i] / static_cast<double>(triples_of_[i].size());
      for (const uint32_t t : triples_of_[i]) {
        next[triples_[t].subject == i ? triples_[t].object : triples_[t].subject] += share;
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
  order.resize(std::min(count, n));
  return order;
}

std::vector<uint32_t> Graph::Neighbourhood(uint32_t entity) const {
  std::vector<uint32_t> found = triples_of_[entity];
  for (const uint32_t t : triples_of_[entity]) {
    const Triple& own = triples_[t];
    const uint32_t neighbour = own.subject == entity ? own.object : own.subject;
    found.insert(found.end(), triples_of_[neighbour].begin(), triples_of_[neighbour].end());
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

struct Options {
  int64_t train_questions = 0;
  int64_t test_questions = 0;
  int64_t train_per_passage = 0;
  int64_t test_per_passage = 0;
  int64_t triples = 0;
  double invert_rate = 0;
  double hypernym_rate = 0;
};

class WordNetGenerator : public Generator {
 public:
  WordNetGenerator(WordNet wordnet, Options options, size_t seed_entities, uint64_t seed)
      : wordnet_(std::move(wordnet)), graph_(wordnet_), options_(options), seed_(seed) {
    seeds_ = graph_.MostCentral(seed_entities);
    Random random(seed, "wordnet/seeds");
    random.Shuffle(seeds_);
  }

  absl::Status Generate(Split split, const PassageSink& sink) override;

 private:
  using Spans = std::array<Span, kElements>;

  Passage MakePassage(const std::vector<uint32_t>& triples, Random& random,
                      std::vector<Spans>& spans) const;
  Question MakeQuestion(const Triple& triple, const Spans& spans, const std::string& context,
                        Random& random) const;

  WordNet wordnet_;
  Graph graph_;
  Options options_;
  uint64_t seed_;
  std::vector<uint32_t> seeds_;
  absl::flat_hash_set<Digest> contexts_;
};

Passage WordNetGenerator::MakePassage(const std::vector<uint32_t>& triples, Random& random,
                                      std::vector<Spans>& spans) const {
  Passage passage;
  std::string& context = passage.context;
  for (const uint32_t index : triples) {
    const Triple& triple = graph_.triple(index);
    const auto& labels = Properties()[triple.property].labels;
    const std::array<std::string, kElements> texts = {
        graph_.Label(triple.subject, random), std::string(labels[random.Below(labels.size())]),
        graph_.Label(triple.object, random)};
    if (!context.empty()) {
      context.append(kDelimiter.data(), kDelimiter.size());
    }
    Spans own;
    for (size_t e = 0; e < kElements; ++e) {
      context.append(e == 0 ? "" : " ");
      own[e].begin = static_cast<int64_t>(context.size());
      context.append(texts[e]);
      own[e].end = static_cast<int64_t>(context.size());
    }
    spans.push_back(own);
  }
  context.append(" .");
  return passage;
}

Question WordNetGenerator::MakeQuestion(const Triple& triple, const Spans& spans,
                                        const std::string& context, Random& random) const {
  const auto masked = static_cast<Element>(random.Below(kElements));
  // Every choice is drawn whether or not it applies, so that rates change only what they name.
  const bool wants_inverse = random.Chance(options_.invert_rate);
  const bool wants_hypernym = random.Chance(options_.hypernym_rate);
  const bool inverted = wants_inverse && masked != kPredicate;
  const auto entity_label = [&](uint32_t entity) {
    const auto& hypernyms = graph_.HypernymsOf(entity);
    if (wants_hypernym && masked != kPredicate && !hypernyms.empty()) {
      entity = hypernyms[random.Below(hypernyms.size())];
    }
    return graph_.Label(entity, random);
  };
  const Property& property = Properties()[triple.property];
  const auto& labels = inverted && !property.symmetric ? property.inverse_labels : property.labels;
  const std::string mask(kMask);
  std::string first = masked == kSubject ? mask : entity_label(triple.subject);
  const std::string predicate =
      masked == kPredicate ? mask : std::string(labels[random.Below(labels.size())]);
  std::string second = masked == kObject ? mask : entity_label(triple.object);
  if (inverted) {
    std::swap(first, second);
  }
  Question question;
  question.text = absl::StrCat(first, " ", predicate, " ", second);
  const Span span = spans[masked];
  question.answers.push_back(
      context.substr(static_cast<size_t>(span.begin), static_cast<size_t>(span.end - span.begin)));
  question.spans.push_back(span);
  return question;
}

absl::Status WordNetGenerator::Generate(Split split, const PassageSink& sink) {
  const bool train = split == Split::kTrain;
  const int64_t wanted = train ? options_.train_questions : options_.test_questions;
  const int64_t per_passage = train ? options_.train_per_passage : options_.test_per_passage;
  const int64_t all = options_.train_questions + options_.test_questions;
  // Seeds are dealt out so that none serves both splits.
  const size_t cut =
      std::clamp<size_t>(static_cast<size_t>(static_cast<double>(seeds_.size()) *
                                             static_cast<double>(options_.train_questions) /
                                             static_cast<double>(std::max<int64_t>(all, 1))),
                         1, seeds_.size() - 1);
  const size_t begin = train ? 0 : cut;
  const size_t end = train ? cut : seeds_.size();
  Random random(seed_, absl::StrCat("wordnet/", SplitName(split)));
  int64_t made = 0;
  for (int64_t number = 0; made < wanted; ++number) {
    Passage passage;
    std::vector<uint32_t> triples;
    std::vector<Spans> spans;
    for (int64_t draw = 0;; ++draw) {
      if (draw == kDrawsPerPassageMax) {
        return absl::InvalidArgumentError(
            absl::StrCat("wordnet: no new ", SplitName(split), " passage after ", made, " of ",
                         wanted, " questions; ask for fewer questions or more --seed-entities"));
      }
      const uint32_t entity = seeds_[begin + random.Below(end - begin)];
      const std::vector<uint32_t> near = graph_.Neighbourhood(entity);
      if (static_cast<int64_t>(near.size()) < kTriplesMin) {
        continue;
      }
      const size_t count = std::min(near.size(), static_cast<size_t>(options_.triples));
      triples.clear();
      spans.clear();
      for (const uint32_t index : SampleInOrder(near.size(), count, random)) {
        triples.push_back(near[index]);
      }
      passage = MakePassage(triples, random, spans);
      if (contexts_.insert(Sha256Of(passage.context)).second) {
        passage.title = graph_.Label(entity, random);
        break;
      }
    }
    const int64_t questions = std::min(per_passage, wanted - made);
    for (int64_t q = 0; q < questions; ++q) {
      const size_t chosen = random.Below(triples.size());
      passage.questions.push_back(
          MakeQuestion(graph_.triple(triples[chosen]), spans[chosen], passage.context, random));
      passage.questions.back().id = absl::StrCat("wordnet-", SplitName(split), "-", number, "-", q);
    }
    made += questions;
    CONCUR_RETURN_IF_ERROR(sink(std::move(passage)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Generator>> Make(const BuilderInput& input) {
  const Parameters& p = input.parameters;
  Options options;
  options.train_questions = p.Count("train-questions");
  options.test_questions = p.Count("test-questions");
  options.train_per_passage = p.Count("train-questions-per-passage");
  options.test_per_passage = p.Count("test-questions-per-passage");
  options.triples = p.Count("triples");
  options.invert_rate = p.Rate("invert-rate");
  options.hypernym_rate = p.Rate("hypernym-rate");
  CONCUR_ASSIGN_OR_RETURN(WordNet wordnet, WordNet::Load(input.sources));
  if (wordnet.synsets().size() < 2) {
    return absl::DataLossError(
        absl::StrCat(input.sources.paths().wordnet, ": expected at least two synsets"));
  }
  input.header["split_by"] = "seed entity: none serves both train and test";
  return std::make_unique<WordNetGenerator>(
      std::move(wordnet), options, static_cast<size_t>(p.Count("seed-entities")), input.seed);
}

}  // namespace

BuilderInfo WordNetBuilder() {
  BuilderInfo info;
  info.name = "wordnet";
  info.version = "1";
  info.summary =
      "triples of WordNet's graph with one element masked, reworded (WikidataSyntheticQA)";
  info.parameters = {
      CountParameter("train-questions", 10'000, 1, 10'000'000, "questions of the train set"),
      CountParameter("test-questions", 9'835, 1, 10'000'000, "questions of the test set"),
      CountParameter("train-questions-per-passage", 1, 1, 1000, "questions on a train passage"),
      CountParameter("test-questions-per-passage", 5, 1, 1000, "questions on a test passage"),
      CountParameter("triples", 50, kTriplesMin, 1000, "triples of a passage, at most"),
      CountParameter("seed-entities", 10'000, 2, 1'000'000,
                     "passages start from this many entities of highest PageRank"),
      RateParameter("invert-rate", "0.5", "share of questions whose predicate is inverted"),
      RateParameter("hypernym-rate", "0.5",
                    "share of questions whose remaining entity becomes one of its hypernyms"),
  };
  info.make = Make;
  return info;
}

}  // namespace concur::qa
