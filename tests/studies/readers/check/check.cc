// SPDX-License-Identifier: Apache-2.0
#include "tests/studies/readers/check/check.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "studies/readers/files/encoder_config.h"
#include "studies/readers/tensors.h"
#include "tests/studies/readers/check/differences.h"
#include "tests/studies/readers/check/encoder_check.h"
#include "tests/studies/readers/check/fixture.h"
#include "tests/studies/readers/check/originals/data_check.h"

namespace concur::readers {
namespace {

// Values that originals give for a batch, by the names under which fixtures hold them.
using Outputs = std::map<std::string, std::function<torch::Tensor(const Scores&)>>;

const Outputs& EvaluationOutputs() {
  const auto log_probabilities = [](const torch::Tensor& x) { return torch::log_softmax(x, 1); };
  static const auto& outputs = *new Outputs{
      {"eval.start_prob", [](const Scores& s) { return torch::softmax(s.starts, 1); }},
      {"eval.end_prob", [](const Scores& s) { return torch::softmax(s.ends, 1); }},
      {"eval.start_logit", [](const Scores& s) { return s.starts; }},
      {"eval.end_logit", [](const Scores& s) { return s.ends; }},
      {"eval.start_exp", [](const Scores& s) { return s.starts.exp(); }},
      {"eval.end_exp", [](const Scores& s) { return s.ends.exp(); }},
      {"out.span_start_logits", [](const Scores& s) { return s.starts; }},
      {"out.span_end_logits", [](const Scores& s) { return s.ends; }},
      {"out.span_start_probs", [](const Scores& s) { return torch::softmax(s.starts, 1); }},
      {"out.span_end_probs", [](const Scores& s) { return torch::softmax(s.ends, 1); }},
      {"span_scores", [](const Scores& s) { return s.spans; }},
      {"span_scores_mask", [](const Scores& s) { return s.spans_mask; }},
      {"word_scores", [](const Scores& s) { return s.starts; }},
      {"word_scores2", [](const Scores& s) { return s.ends; }},
      {"word_scores_logprob", [=](const Scores& s) { return log_probabilities(s.starts); }},
      {"word_scores2_logprob", [=](const Scores& s) { return log_probabilities(s.ends); }},
  };
  return outputs;
}

const Outputs& TrainingOutputs() {
  static const auto& outputs = *new Outputs{
      {"train.start_logprob", [](const Scores& s) { return torch::log_softmax(s.starts, 1); }},
      {"train.end_logprob", [](const Scores& s) { return torch::log_softmax(s.ends, 1); }},
  };
  return outputs;
}

// Compares the scores that the fixture has. Theano's originals leave arbitrary values where a mask
// is 0: those are not compared.
void CompareOutputs(const Fixture& fixture, const Outputs& outputs, const Scores& scores,
                    CheckResult& result) {
  for (const auto& [name, compute] : outputs) {
    std::optional<torch::Tensor> expected = fixture.Find(name);
    if (!expected.has_value()) {
      continue;
    }
    torch::Tensor computed = compute(scores);
    if (!computed.defined()) {
      result.forward = kInfinite;
      result.forward_at = name;
      continue;
    }
    computed = computed.cpu();
    const absl::string_view mask_name = absl::StripSuffix(name, "_logprob");
    const std::optional<torch::Tensor> mask = fixture.Find(absl::StrCat(mask_name, "_mask"));
    if (mask.has_value() && mask->sizes() == computed.sizes()) {
      expected = expected->masked_fill(mask->eq(0), 0);
      computed = computed.masked_fill(mask->eq(0), 0);
    }
    const double difference = LargestDifference(computed, *expected);
    if (difference >= result.forward) {
      result.forward = difference;
      result.forward_at = name;
    }
  }
}

// True if the original's training pass, said to be without dropout, had some: padding is all that
// may else set it apart from the evaluation, and there is a question without any.
bool HadDropout(const Fixture& fixture) {
  const std::optional<torch::Tensor> evaluated = fixture.Find("eval.start_prob");
  const std::optional<torch::Tensor> trained = fixture.Find("train.start_logprob");
  if (!evaluated.has_value() || !trained.has_value() || evaluated->sizes() != trained->sizes()) {
    return false;
  }
  constexpr double kRounding = 1e-3;
  const torch::Tensor full =
      fixture.batch.passage_mask.all(1).logical_and(fixture.batch.question_mask.all(1)).cpu();
  const torch::Tensor differences = (*evaluated - trained->exp()).abs().amax(1);
  return differences.gt(kRounding).logical_and(full).any().item<bool>();
}

// True if the spans equal `starts` and `ends`, [B, K] or [B].
bool SpansEqual(const std::vector<std::vector<Span>>& spans, const torch::Tensor& starts,
                const torch::Tensor& ends) {
  const torch::Tensor first = starts.view({starts.size(0), -1});
  const torch::Tensor last = ends.view({ends.size(0), -1});
  if (static_cast<int64_t>(spans.size()) != first.size(0)) {
    return false;
  }
  for (int64_t row = 0; row < first.size(0); ++row) {
    const std::vector<Span>& best = spans[static_cast<size_t>(row)];
    if (static_cast<int64_t>(best.size()) != first.size(1)) {
      return false;
    }
    for (int64_t i = 0; i < first.size(1); ++i) {
      const Span& span = best[static_cast<size_t>(i)];
      if (span.first != first[row][i].item<int64_t>() ||
          span.last != last[row][i].item<int64_t>()) {
        return false;
      }
    }
  }
  return true;
}

// The number after `prefix` in a name such as "top3"; -1 when it is not there.
int64_t NumberAfter(absl::string_view text, absl::string_view prefix) {
  int64_t number = -1;
  if (!absl::ConsumePrefix(&text, prefix) || !absl::SimpleAtoi(text, &number)) {
    return -1;
  }
  return number;
}

void CompareSpans(const Fixture& fixture, const Scores& scores, CheckResult& result) {
  const auto compare = [&](const Limits& limits, const torch::Tensor& starts,
                           const torch::Tensor& ends, const std::string& name) {
    if (!SpansEqual(fixture.network->Decode(scores, fixture.batch, limits), starts, ends)) {
      result.spans_equal = false;
      result.spans_at = name;
    }
  };
  Limits usual;
  usual.tokens_max = fixture.approach->settings.answer_tokens_max;
  if (fixture.options.Has("max_span_length")) {  // counts the steps from first to last token
    usual.tokens_max = fixture.options.Int("max_span_length") + 1;
  }
  for (const auto& [name, stored] : fixture.io.tensors()) {
    const std::vector<std::string> parts = absl::StrSplit(name, '.');
    if (parts.size() == 4 && parts[0] == "decode" && parts[3] == "start") {
      const Limits limits = {NumberAfter(parts[2], "maxlen"), NumberAfter(parts[1], "top")};
      const auto ends = fixture.Find(absl::StrCat("decode.", parts[1], ".", parts[2], ".end"));
      compare(limits, ToTensor(stored), ends.value_or(torch::empty({0, 0})), name);
    } else if (parts.size() == 2 && parts[0] == "best_span") {
      const torch::Tensor spans = ToTensor(stored);
      compare({NumberAfter(parts[1], "maxlen") + 1, 1}, spans.select(1, 0), spans.select(1, 1),
              name);
    } else if (name == "out.best_span") {
      const torch::Tensor spans = ToTensor(stored);
      compare(usual, spans.select(1, 0), spans.select(1, 1), name);
    } else if (name == "pred_start") {
      compare(usual, ToTensor(stored), fixture.Find("pred_end").value_or(torch::empty({0})), name);
    }
  }
}

std::string Shown(double difference) {
  return std::isinf(difference) ? "differs" : absl::StrFormat("%.1e", difference);
}

std::string TextsTable(const std::vector<DataCheckResult>& texts) {
  size_t width = 5;
  for (const DataCheckResult& result : texts) {
    width = std::max(width, result.name.size());
  }
  const auto columns = static_cast<int>(width);
  std::string table = absl::StrFormat("%-*s  compared  different\n", columns, "texts");
  for (const DataCheckResult& result : texts) {
    absl::StrAppendFormat(&table, "%-*s  %8d  %9d  %s\n", columns, result.name, result.compared,
                          result.different, result.ok() ? "ok" : "OFF");
    if (!result.first_difference.empty()) {
      absl::StrAppend(&table, "    first at ", result.first_difference, "\n");
    }
  }
  return table;
}

bool IsFixture(const std::filesystem::path& directory) {
  std::error_code error;
  return std::filesystem::exists(directory / "config.json", error) &&
         std::filesystem::exists(directory / "io.safetensors", error);
}

absl::StatusOr<CheckResult> Compare(const std::string& directory, torch::Device device) {
  CONCUR_ASSIGN_OR_RETURN(Fixture fixture, ReadFixture(directory));
  fixture.network->to(device);
  fixture.batch = fixture.batch.To(device);
  CheckResult result;
  result.name = FixtureName(directory);
  result.approach = fixture.approach->name;

  const Scores scores = fixture.network->Forward(fixture.batch);
  CompareOutputs(fixture, EvaluationOutputs(), scores, result);
  CompareSpans(fixture, scores, result);

  result.training_compared = !HadDropout(fixture);
  if (!result.training_compared) {
    return result;
  }
  Scores learned = scores;
  if (fixture.in_training) {
    fixture.network->train();
    learned = fixture.network->Forward(fixture.batch);
    CompareOutputs(fixture, TrainingOutputs(), learned, result);
  }
  const torch::Tensor loss = fixture.network->Loss(learned, fixture.batch);
  loss.backward();
  const std::optional<torch::Tensor> expected_loss =
      fixture.Find(fixture.in_training                    ? "train.loss"
                   : fixture.Find("out.loss").has_value() ? "out.loss"
                                                          : "loss");
  result.loss = expected_loss.has_value() ? LargestDifference(loss, *expected_loss) : kInfinite;
  CompareGradients(*fixture.network, fixture.gradients, result);
  return result;
}

// The fixtures in a folder, in order of name.
absl::StatusOr<std::set<std::string>> FixturesIn(const std::string& directory) {
  std::set<std::string> inside;
  std::error_code error;
  for (auto it = std::filesystem::directory_iterator(directory, error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    if (IsFixture(it->path())) {
      inside.insert(it->path().string());
    }
  }
  if (error) {
    return absl::NotFoundError(absl::StrCat(directory, ": ", error.message()));
  }
  return inside;
}

}  // namespace

absl::StatusOr<CheckResult> CheckFixture(const std::string& directory, torch::Device device) {
  try {
    return FamilyOfCheckpoint(directory) != nullptr ? CompareEncoder(directory, device)
                                                    : Compare(directory, device);
  } catch (const c10::Error& error) {  // such as an id without an embedding
    return absl::InvalidArgumentError(
        absl::StrCat(directory, "/io.safetensors: ", error.what_without_backtrace()));
  }
}

bool Comparisons::ok() const {
  const auto equal = [](const auto& result) { return result.ok(); };
  return std::all_of(networks.begin(), networks.end(), equal) &&
         std::all_of(texts.begin(), texts.end(), equal);
}

absl::StatusOr<Comparisons> CheckDirectories(const std::vector<std::string>& directories,
                                             const std::string& vocabularies,
                                             torch::Device device) {
  Comparisons all;
  for (const std::string& directory : directories) {
    const size_t before = all.networks.size() + all.texts.size();
    CONCUR_ASSIGN_OR_RETURN(std::vector<DataCheckResult> texts,
                            CheckDataIn(directory, vocabularies));
    std::move(texts.begin(), texts.end(), std::back_inserter(all.texts));
    if (IsFixture(directory)) {
      CONCUR_ASSIGN_OR_RETURN(all.networks.emplace_back(), CheckFixture(directory, device));
      continue;
    }
    CONCUR_ASSIGN_OR_RETURN(const std::set<std::string> inside, FixturesIn(directory));
    for (const std::string& fixture : inside) {
      absl::StatusOr<CheckResult> result = CheckFixture(fixture, device);
      if (result.ok()) {
        all.networks.push_back(*std::move(result));
      } else if (absl::IsNotFound(result.status())) {
        all.left_out.emplace_back(result.status().message());
      } else {
        return std::move(result).status();
      }
    }
    if (all.networks.size() + all.texts.size() == before) {
      return absl::NotFoundError(absl::StrCat(
          directory,
          ": no fixture of an approach here: expected config.json, weights.safetensors, "
          "io.safetensors and grads.safetensors, or folders with them"));
    }
  }
  return all;
}

std::string CheckJson(const Comparisons& comparisons) {
  nlohmann::ordered_json fixtures = nlohmann::ordered_json::array();
  const auto number = [](double difference) {
    return std::isinf(difference) ? nlohmann::ordered_json() : nlohmann::ordered_json(difference);
  };
  for (const CheckResult& result : comparisons.networks) {
    fixtures.push_back(
        {{"name", result.name},
         {"approach", result.approach},
         {"forward", number(result.forward)},
         {"loss", number(result.training_compared ? result.loss : kInfinite)},
         {"gradients", number(result.training_compared ? result.gradients : kInfinite)},
         {"training_compared", result.training_compared},
         {"spans_equal", result.spans_compared ? nlohmann::ordered_json(result.spans_equal)
                                               : nlohmann::ordered_json()},
         {"ok", result.ok()}});
  }
  nlohmann::ordered_json compared = nlohmann::ordered_json::array();
  for (const DataCheckResult& result : comparisons.texts) {
    compared.push_back({{"name", result.name},
                        {"compared", result.compared},
                        {"different", result.different},
                        {"first_difference", result.first_difference},
                        {"ok", result.ok()}});
  }
  return nlohmann::ordered_json({{"fixtures", fixtures}, {"texts", compared}})
             .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

std::string CheckText(const Comparisons& comparisons) {
  const auto& [results, texts, left_out] = comparisons;
  if (results.empty()) {
    return TextsTable(texts);
  }
  size_t width = 7;
  for (const CheckResult& result : results) {
    width = std::max(width, result.name.size());
  }
  std::string text = absl::StrFormat("%-*s  forward     loss  gradients  spans\n",
                                     static_cast<int>(width), "fixture");
  for (const CheckResult& result : results) {
    const auto trained = [&result](double difference) {
      return result.training_compared ? Shown(difference) : "-";
    };
    absl::StrAppendFormat(&text, "%-*s  %7s  %7s  %9s  %-6s  %s\n", static_cast<int>(width),
                          result.name, Shown(result.forward), trained(result.loss),
                          trained(result.gradients),
                          !result.spans_compared ? "-"
                          : result.spans_equal   ? "equal"
                                                 : "differ",
                          result.ok() ? "ok" : "OFF");
    if (!result.training_compared) {
      absl::StrAppend(&text,
                      "    its training pass had dropout on: a question without padding is "
                      "scored\n    otherwise than in evaluation; loss and gradients are not "
                      "compared\n");
    }
    if (result.ok()) {
      continue;
    }
    absl::StrAppend(&text, "    largest differences: forward at ", result.forward_at,
                    ", gradients at ", result.gradients_at,
                    result.spans_equal ? "" : absl::StrCat("; spans of ", result.spans_at), "\n");
  }
  if (!texts.empty()) {
    absl::StrAppend(&text, "\n", TextsTable(texts));
  }
  return text;
}

}  // namespace concur::readers
