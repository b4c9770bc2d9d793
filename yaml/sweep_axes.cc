// SPDX-License-Identifier: Apache-2.0
// Reads the training sets, evaluation sets and exclusions of a sweep.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/metric_meaning.h"
#include "base/suggest.h"
#include "core/early_stop/early_stop_brackets.h"
#include "core/reported_step.h"
#include "yaml/sweep_reader.h"

namespace concur::spec {
namespace {

// Sets the needs of approaches or benchmarks by `uses`, of which `find` gives the indices.
template <typename Find, typename Item>
void LinkNeeds(const std::map<uint32_t, std::vector<NameUse>>& uses, Find find,
               std::vector<Item>& items) {
  for (const auto& [item, names] : uses) {
    for (const NameUse& name : names) {
      if (const auto need = find(name)) {
        items[item].needs.push_back(*need);
      }
    }
  }
}

}  // namespace

SweepReader::Named SweepReader::Approaches() const {
  Named named{"an approach", {}, {}};
  for (const ApproachSpec& approach : sweep_.spec.approaches) {
    named.names.push_back(approach.name);
    named.tags.push_back(&approach.tags);
  }
  return named;
}

SweepReader::Named SweepReader::Benchmarks() const {
  Named named{"a benchmark", {}, {}};
  for (const BenchmarkSpec& benchmark : sweep_.spec.benchmarks) {
    named.names.push_back(benchmark.name);
    named.tags.push_back(&benchmark.tags);
  }
  return named;
}

SweepReader::Named SweepReader::BenchmarksAndAbsentOnes() const {
  Named named = Benchmarks();
  named.absent = absent_;
  return named;
}

SweepReader::Named SweepReader::BenchmarksAndMixtures() const {
  Named named = Benchmarks();
  named.kind = "a benchmark or mixture";
  for (const TrainSet& mixture : mixtures_) {
    named.names.push_back(mixture.name);
    named.tags.push_back(&mixture.tags);
  }
  return named;
}

SweepReader::Named SweepReader::TrainSets() const {
  Named named{"a train set of this sweep", {}, {}};
  for (const TrainSet& train_set : sweep_.spec.train_sets) {
    named.names.push_back(train_set.name);
    named.tags.push_back(&train_set.tags);
  }
  return named;
}

void SweepReader::SelectOne(const Value& value, const Named& things, std::set<uint32_t>* selected) {
  const std::optional<std::string> text = value.Text(absl::StrCat("the name of ", things.kind));
  if (!text) {
    return;
  }
  absl::string_view tag = *text;
  const bool by_tag = absl::ConsumePrefix(&tag, "tag:");
  const size_t equals = tag.find('=');
  const std::string tag_name(tag.substr(0, equals));
  const std::string tag_value(equals == tag.npos ? "yes" : tag.substr(equals + 1));
  const auto selects = [&](const std::string& name, const Tags& tags) {
    const auto has = tags.find(tag_name);
    return by_tag ? has != tags.end() && has->second == tag_value : name == *text;
  };
  bool found =
      std::any_of(things.absent.begin(), things.absent.end(),
                  [&](const BenchmarkSpec& absent) { return selects(absent.name, absent.tags); });
  for (uint32_t i = 0; i < things.names.size(); ++i) {
    if (selects(things.names[i], *things.tags[i])) {
      selected->insert(i);
      found = true;
    }
  }
  // Names may belong to files that could not be read, which is an error already.
  if (!found && !incomplete_) {
    std::vector<std::string> candidates = things.words;
    candidates.insert(candidates.end(), things.names.begin(), things.names.end());
    value.Error(absl::StrCat("expected ", absl::StrJoin(things.words, ", "),
                             things.words.empty() ? "" : ", ", "the name of ", things.kind,
                             ", or tag:NAME or tag:NAME=VALUE that one has, got \"", *text, "\"",
                             by_tag ? "" : DidYouMean(*text, candidates)));
  }
}

std::vector<uint32_t> SweepReader::Select(const Value& value, const Named& things) {
  std::set<uint32_t> selected;
  if (value.IsScalar()) {
    SelectOne(value, things, &selected);
  } else if (const auto items = value.List(absl::StrCat("names, each of ", things.kind))) {
    if (items->empty()) {
      value.Error(absl::StrCat("expected the name of ", things.kind, ", got an empty list"));
    }
    for (const Value& item : *items) {
      SelectOne(item, things, &selected);
    }
  }
  return std::vector<uint32_t>(selected.begin(), selected.end());
}

void SweepReader::ReadMixtures(const Value& value) {
  const auto items = value.List("a list of mixtures");
  if (!items) {
    return;
  }
  for (const Value& item : *items) {
    ReadMixture(item);
  }
}

void SweepReader::ReadMixture(const Value& value) {
  TrainSet mixture;
  Fields fields(value);
  if (const auto name = fields.Require("name", "of the mixture")) {
    mixture.name = name->Name().value_or("");
    const std::vector<std::string> taken = BenchmarksAndMixtures().names;
    if (!mixture.name.empty() &&
        std::find(taken.begin(), taken.end(), mixture.name) != taken.end()) {
      name->Error(absl::StrCat("expected a name that no benchmark or mixture has, got \"",
                               mixture.name, "\""));
    }
  }
  if (const auto tags = fields.Get("tags")) {
    mixture.tags = ReadTags(*tags);
  }
  if (const auto seed = fields.Get("seed")) {
    mixture.seed =
        static_cast<uint64_t>(seed->Integer(0, std::numeric_limits<int64_t>::max()).value_or(0));
  }
  const auto of = fields.Require("of", "a list of {benchmark, examples_max}");
  const auto parts = of ? of->List("a list of {benchmark, examples_max}") : std::nullopt;
  if (parts && parts->empty()) {
    of->Error("expected at least one benchmark, got an empty list");
  }
  std::set<uint32_t> seen;
  for (const Value& part_value : parts.value_or(std::vector<Value>())) {
    TrainSet::Part part;
    Fields part_fields(part_value);
    if (const auto benchmark = part_fields.Require("benchmark", "the name of one")) {
      std::set<uint32_t> selected;
      SelectOne(*benchmark, Benchmarks(), &selected);
      if (selected.size() > 1) {
        benchmark->Error("expected one benchmark, got a tag of several");
      } else if (!selected.empty()) {
        part.benchmark = *selected.begin();
        if (!sweep_.spec.benchmarks[part.benchmark].train) {
          benchmark->Error(absl::StrCat("expected a benchmark with a train file, got \"",
                                        sweep_.spec.benchmarks[part.benchmark].name, "\""));
        } else if (!seen.insert(part.benchmark).second) {
          benchmark->Error(absl::StrCat("expected each benchmark once, got \"",
                                        sweep_.spec.benchmarks[part.benchmark].name, "\" again"));
        }
      }
    }
    if (const auto cap = part_fields.Get("examples_max")) {
      part.examples_max = cap->Integer(1, std::numeric_limits<int64_t>::max()).value_or(0);
    }
    part_fields.Finish();
    mixture.parts.push_back(part);
  }
  fields.Finish();
  mixtures_.push_back(std::move(mixture));
  mixture_places_.push_back(value.Place());
}

void SweepReader::AddTrainSet(uint32_t index, const std::string& place) {
  SweepSpec& spec = sweep_.spec;
  sweep_.places[absl::StrCat("train_sets[", spec.train_sets.size(), "]")] = place;
  if (index >= spec.benchmarks.size()) {
    spec.train_sets.push_back(mixtures_[index - spec.benchmarks.size()]);
    return;
  }
  TrainSet plain;
  plain.name = spec.benchmarks[index].name;
  plain.tags = spec.benchmarks[index].tags;
  plain.parts = {{index, 0}};
  spec.train_sets.push_back(std::move(plain));
}

void SweepReader::ReadTrainOn(const std::optional<Value>& value) {
  const SweepSpec& spec = sweep_.spec;
  const auto benchmark_count = static_cast<uint32_t>(spec.benchmarks.size());
  const std::set<std::string> started_from = StartedFrom();
  std::vector<uint32_t> selected;
  if (value) {
    selected = Select(*value, BenchmarksAndMixtures());
  } else {
    for (uint32_t i = 0; i < benchmark_count + mixtures_.size(); ++i) {
      // A text that is there to be pretrained on is nothing to fine-tune on.
      const bool is_plain = i < benchmark_count;
      const bool is_text =
          is_plain && !spec.benchmarks[i].test && started_from.contains(spec.benchmarks[i].name);
      if (!is_plain || (spec.benchmarks[i].train && !is_text)) {
        selected.push_back(i);
      }
    }
  }
  for (const uint32_t index : selected) {
    if (index < benchmark_count && !spec.benchmarks[index].train) {
      value->Error(absl::StrCat("expected benchmarks with a train file, got \"",
                                spec.benchmarks[index].name, "\""));
      continue;
    }
    AddTrainSet(index, index >= benchmark_count ? mixture_places_[index - benchmark_count]
                       : value                  ? value->Place()
                                                : sweep_.places["benchmarks"]);
  }
  for (uint32_t i = 0; i < mixtures_.size(); ++i) {
    if (!std::binary_search(selected.begin(), selected.end(), benchmark_count + i) &&
        !started_from.contains(mixtures_[i].name)) {
      sweep_.warnings.push_back(absl::StrCat(mixture_places_[i], "the mixture \"",
                                             mixtures_[i].name, "\" is not in train_on"));
    }
  }
}

std::set<std::string> SweepReader::StartedFrom() const {
  std::set<std::string> names;
  for (const auto& [approach, use] : stages_) {
    if (use.benchmark != kSameTrainSet) {
      names.insert(use.benchmark);
    }
  }
  return names;
}

void SweepReader::LinkStages() {
  SweepSpec& spec = sweep_.spec;
  // Names may belong to files that could not be read, which is an error already.
  const auto find = [this](const std::vector<std::string>& names, const std::string& name,
                           const std::string& place, absl::string_view kind) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end() && !incomplete_ && !name.empty()) {
      errors_.Add("", {}, "",
                  absl::StrCat(place, "expected the name of ", kind, ", got \"", name, "\"",
                               DidYouMean(name, names)));
    }
    return found == names.end() ? std::nullopt
                                : std::optional(static_cast<uint32_t>(found - names.begin()));
  };
  const std::vector<std::string> approaches = Approaches().names;
  const std::vector<std::string> benchmarks = BenchmarksAndMixtures().names;
  const auto find_served = [&](const NameUse& use) {
    return find(approaches, use.name, use.place, "an approach that serves");
  };
  LinkNeeds(needs_, find_served, spec.approaches);
  LinkNeeds(benchmark_needs_, find_served, spec.benchmarks);
  std::map<std::string, uint32_t> train_sets;
  for (uint32_t i = 0; i < spec.train_sets.size(); ++i) {
    train_sets.emplace(spec.train_sets[i].name, i);
  }
  for (const auto& [approach, use] : stages_) {
    const auto source = find(approaches, use.approach, use.approach_place, "an approach");
    TrainFrom from;
    from.approach = source.value_or(0);
    if (use.benchmark != kSameTrainSet) {
      const auto index =
          find(benchmarks, use.benchmark, use.benchmark_place, "a benchmark or mixture, or same");
      if (!index) {
        continue;
      }
      if (*index < spec.benchmarks.size() && !spec.benchmarks[*index].train) {
        errors_.Add(
            "", {}, "",
            absl::StrCat(use.benchmark_place, "expected a benchmark with a train file, got \"",
                         use.benchmark, "\""));
        continue;
      }
      const auto [train_set, is_new] =
          train_sets.emplace(use.benchmark, static_cast<uint32_t>(spec.train_sets.size()));
      from.train_set = train_set->second;
      if (is_new) {
        AddTrainSet(*index, use.benchmark_place);
        spec.train_sets.back().source_only = true;
      }
    }
    if (source) {
      spec.approaches[approach].train_from = from;
    }
  }
}

void SweepReader::ReadEvaluateOn(const Value& value) {
  SweepSpec& spec = sweep_.spec;
  if (value.IsScalar() && (value.node().text == "same" || value.node().text == "all")) {
    spec.evaluate_on = value.node().text == "all" ? EvaluateOn::kAll : EvaluateOn::kSame;
    return;
  }
  if (value.IsMap() || value.node().kind == YamlNode::Kind::kNull) {
    value.Expected("same, all or names of benchmarks");
    return;
  }
  spec.evaluate_on = EvaluateOn::kListed;
  Named things = BenchmarksAndAbsentOnes();
  if (value.IsScalar()) {
    things.words = {"same", "all"};
  }
  for (const uint32_t index : Select(value, things)) {
    if (!spec.benchmarks[index].test) {
      value.Error(absl::StrCat("expected benchmarks with a test file, got \"",
                               spec.benchmarks[index].name, "\""));
    }
    spec.evaluate_benchmarks.push_back(index);
  }
}

void SweepReader::ReadExclude(const Value& value) {
  const auto items = value.List("a list of {approach, benchmark, train_on, evaluate_on}");
  if (!items) {
    return;
  }
  for (const Value& item : *items) {
    ReadExcludeRule(item);
  }
}

void SweepReader::ReadExcludeRule(const Value& value) {
  using Axis = std::vector<std::optional<uint32_t>>;
  Fields fields(value);
  const auto approach = fields.Get("approach");
  const auto benchmark = fields.Get("benchmark");
  const auto train_on = fields.Get("train_on");
  const auto evaluate_on = fields.Get("evaluate_on");
  fields.Finish();
  if (!fields.valid()) {
    return;
  }
  if (!approach && !benchmark && !train_on && !evaluate_on) {
    value.Error("expected at least one of approach, benchmark, train_on and evaluate_on, got none");
    return;
  }
  if (benchmark && (train_on || evaluate_on)) {
    benchmark->Error(
        "expected either benchmark (trained or evaluated on it) or train_on and evaluate_on, got "
        "both");
    return;
  }
  const auto axis = [&](const std::optional<Value>& names, const Named& things) {
    Axis selected;
    if (!names) {
      selected.emplace_back();
      return selected;
    }
    for (const uint32_t index : Select(*names, things)) {
      selected.emplace_back(index);
    }
    return selected;
  };
  const Axis approaches = axis(approach, Approaches());
  std::vector<ExcludeRule> rules;
  const auto add = [&](const Axis& train_sets, const Axis& tests) {
    for (const auto& a : approaches) {
      for (const auto& t : train_sets) {
        for (const auto& e : tests) {
          if (sweep_.spec.exclude.size() + rules.size() <= kExcludeRulesMax) {
            rules.push_back({a, t, e});
          }
        }
      }
    }
  };
  const Axis any = {std::nullopt};
  if (!benchmark) {
    add(axis(train_on, TrainSets()), axis(evaluate_on, BenchmarksAndAbsentOnes()));
  } else {
    for (const uint32_t index : Select(*benchmark, BenchmarksAndAbsentOnes())) {
      const std::vector<TrainSet>& train_sets = sweep_.spec.train_sets;
      for (uint32_t t = 0; t < train_sets.size(); ++t) {
        if (train_sets[t].parts.size() == 1 && !train_sets[t].IsMixture() &&
            train_sets[t].parts[0].benchmark == index) {
          add({t}, any);
        }
      }
      add(any, {index});
    }
  }
  sweep_.spec.exclude.insert(sweep_.spec.exclude.end(), rules.begin(), rules.end());
}

namespace {

// Warning about the brackets in which settings could stop that have too few for one of them to be
// chosen; "" without any.
std::string ThinBracketWarning(const EarlyStopRule& rule, uint32_t settings) {
  const EarlyStopBrackets brackets(rule, settings);
  std::vector<std::string> thin;
  for (uint32_t b = 0; b + 1 < brackets.rules().size(); ++b) {  // in the last one nothing stops
    const uint32_t size = brackets.SizeOf(b, settings);
    if (size < rule.eta) {
      thin.push_back(absl::StrCat(size, " from step ", brackets.rules()[b].min));
    }
  }
  return thin.empty() ? ""
                      : absl::StrCat("brackets of fewer than eta settings stop few or none: of ",
                                     settings, " settings ", FirstNames(thin),
                                     "; give settings.random or min more, or write method: asha");
}

}  // namespace

void SweepReader::ReadEarlyStop(const Value& value) {
  EarlyStopSpec early_stop;
  EarlyStopRule& rule = early_stop.rule;
  Fields fields(value);
  if (const auto method = fields.Get("method")) {
    rule.method = method->OneOf(EarlyStopMethodFromName).value_or(rule.method);
  }
  if (const auto metric = fields.Require("metric", "the name that train jobs report")) {
    early_stop.metric = metric->Text().value_or("");
    sweep_.places["early_stop.metric"] = metric->Place();
  }
  const auto minimize = fields.Get("minimize");
  if (minimize) {
    rule.minimize = minimize->Bool().value_or(false);
  }
  if (const auto min = fields.Get("min")) {
    rule.min = min->Integer(1, kStepMax).value_or(rule.min);
  }
  if (const auto max = fields.Require("max", "the steps of a whole training")) {
    rule.max = max->Integer(rule.min, kStepMax).value_or(rule.min);
  }
  if (const auto eta = fields.Get("eta")) {
    rule.eta = eta->Integer(2, kEarlyStopEtaMax).value_or(rule.eta);
  }
  fields.Finish();
  if (!minimize && UsuallyMinimized(early_stop.metric)) {
    sweep_.warnings.push_back(
        absl::StrCat(sweep_.places["early_stop.metric"], "more of \"", early_stop.metric,
                     "\" counts as better; if less is, write minimize: true, else false"));
  }
  if (rule.min == rule.max) {
    sweep_.warnings.push_back(
        absl::StrCat(value.Place(), "min and max are equal: no setting stops early"));
  }
  uint32_t settings = 1;  // largest number of any approach
  for (const ApproachSpec& approach : sweep_.spec.approaches) {
    settings =
        std::max(settings, CountSettings(approach.hyperparameters, sweep_.spec.random_settings));
  }
  if (rule.method == EarlyStopMethod::kHyperband && settings > 1) {
    const std::string warning = ThinBracketWarning(rule, settings);
    if (!warning.empty()) {
      sweep_.warnings.push_back(absl::StrCat(value.Place(), warning));
    }
  }
  sweep_.spec.early_stop = std::move(early_stop);
}

}  // namespace concur::spec
