// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/run/concurrence_list.h"

#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "analysis/plan/verdict.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "cli/client/client.h"
#include "cli/commands/run/concurrence_judge.h"
#include "cli/commands/run/concurrence_verdict.h"
#include "cli/commands/run/published_reference.h"
#include "cli/commands/score_options.h"
#include "cli/output/print.h"
#include "cli/output/render.h"
#include "cli/study/open_study.h"
#include "concur/v1/coordinator.pb.h"
#include "core/sweep/sweep.h"
#include "proto/rpc/convert_sweep.h"
#include "report/text.h"

namespace concur::cli {
namespace {

// A question, by its last sweep.
struct AskedQuestion {
  ComparedPair pair;
  std::optional<DescribedLook> look;  // nothing: it has not passed floor and ceiling
  v1::Sweep sweep;
  std::optional<analysis::Verdict> verdict;
  std::string outcome;  // "shown", "running", "canceled", "no look"
};

// A question by the specification of its sweeps, which differ in the cells that wait and the look.
std::string QuestionKey(SweepSpec spec) {
  spec.exclude.clear();
  spec.description.clear();
  return rpc::EncodeSpec(spec);
}

std::optional<ComparedPair> PairOf(absl::string_view name) {
  const std::vector<std::string> names = absl::StrSplit(name, absl::MaxSplits('@', 1));
  return names.size() == 2 ? std::optional(ComparedPair{names[0], ReferenceOfId(names[1])})
                           : std::nullopt;
}

// The questions, newest first; sweeps of such names that `concur concurrence` did not submit are
// counted in `others`.
absl::StatusOr<std::vector<AskedQuestion>> FindQuestions(CommandContext& context, Client& client,
                                                         size_t& others) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<v1::Sweep> sweeps, client.ListSweeps("", 0));
  NoteNotLoaded(context, sweeps);
  std::vector<AskedQuestion> questions;
  std::set<std::string> seen;  // looks and probes
  for (const v1::Sweep& listed : sweeps) {
    absl::string_view name = listed.name();
    if (!IsLoaded(listed) || !absl::ConsumePrefix(&name, kConcurrencePrefix)) {
      continue;
    }
    CONCUR_ASSIGN_OR_RETURN(v1::Sweep sweep, client.GetSweep(listed.id(), Client::Include::kSpec));
    CONCUR_ASSIGN_OR_RETURN(const SweepSpec spec, rpc::FromProto(sweep.spec()));
    const std::optional<DescribedLook> look = ParseDescription(spec.description);
    const std::optional<ComparedPair> pair = PairOf(name);
    if (!pair.has_value() || (!look.has_value() && spec.description != kProbeDescription)) {
      ++others;
      continue;
    }
    const std::string key = QuestionKey(spec);
    const bool is_new = look.has_value()
                            ? seen.insert(absl::StrCat(key, DescriptionOf(look->asked, 0))).second
                            : seen.count(key) == 0;
    seen.insert(key);
    if (is_new) {
      questions.push_back({*pair, look, std::move(sweep), {}, ""});
    }
  }
  return questions;
}

absl::Status Judge(Client& client, AskedQuestion& question) {
  const v1::Sweep::State state = question.sweep.state();
  const bool is_canceled =
      state == v1::Sweep::STATE_CANCELED || state == v1::Sweep::STATE_CANCELING;
  if (!question.look.has_value()) {
    question.outcome = is_canceled ? "canceled" : HasEnded(state) ? "no look" : "running";
    return absl::OkStatus();
  }
  analysis::VerdictOptions options;
  options.above = question.look->asked.above;
  options.level = question.look->asked.level;
  options.looks = question.look->asked.looks;
  options.bootstrap.families = question.look->asked.families;
  options.bootstrap.parallel_for = ThreadedFor;
  CONCUR_ASSIGN_OR_RETURN(const Study study, FetchStudy(client, question.sweep));
  CONCUR_ASSIGN_OR_RETURN(const analysis::ScoreTable scores, PairScores(study, question.pair));
  question.pair.reference = scores.benchmarks()[1].name;  // as the published table spells it
  CONCUR_ASSIGN_OR_RETURN(question.verdict, JudgeStudy(study, scores, question.pair, options,
                                                       HasEnded(state) && !is_canceled));
  question.outcome = is_canceled       ? "canceled"
                     : HasEnded(state) ? std::string(analysis::ClaimName(question.verdict->claim))
                                       : "running";
  return absl::OkStatus();
}

Json QuestionJson(const AskedQuestion& question) {
  const std::optional<analysis::Verdict>& verdict = question.verdict;
  Json json;
  json["new"] = question.pair.added;
  json["reference"] = question.pair.reference;
  json["approaches"] = verdict.has_value() ? Json(verdict->approaches) : Json(nullptr);
  json["tau"] = NumberJson(verdict.has_value() ? verdict->tau : std::nullopt);
  json["tau_interval"] = IntervalJson(verdict.has_value() ? verdict->tau_interval : std::nullopt);
  json["verdict"] = question.outcome;
  json["above"] = NumberJson(question.look.has_value() ? std::optional(question.look->asked.above)
                                                       : std::nullopt);
  json["look"] = question.look.has_value() ? Json(question.look->look) : Json(nullptr);
  json["looks"] = question.look.has_value() ? Json(question.look->asked.looks) : Json(nullptr);
  json["create_time"] = SweepJson(question.sweep)["create_time"];
  json["sweep"] = question.sweep.id();
  return json;
}

}  // namespace

absl::Status ListConcurrences(CommandContext& context) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  size_t others = 0;
  CONCUR_ASSIGN_OR_RETURN(std::vector<AskedQuestion> questions,
                          FindQuestions(context, *client, others));
  Listing listing(context,
                  {{.name = "NEW", .width_max = 30},
                   {.name = "REFERENCE", .width_max = 30},
                   {"APPROACHES", true},
                   {"TAU", true},
                   {"INTERVAL"},
                   {"ABOVE", true},
                   {"VERDICT"},
                   {.name = "LOOK", .drop = 2},
                   {.name = "ASKED", .drop = 1},
                   {"SWEEP"}},
                  QuestionJson({}),
                  "Nothing was asked yet. Ask: concur concurrence NEW.yaml --with REFERENCE");
  for (AskedQuestion& question : questions) {
    if (absl::Status status = Judge(*client, question); absl::IsUnavailable(status)) {
      return status;
    } else if (!status.ok()) {
      question.outcome = "unknown";
      PrintWarning(context, absl::StrCat(question.sweep.id(), ": ", status.message()));
    }
    const bool has_tau = question.verdict.has_value();
    const auto& interval = has_tau ? question.verdict->tau_interval : std::nullopt;
    listing.Add({question.pair.added, question.pair.reference,
                 has_tau ? absl::StrCat(question.verdict->approaches) : "",
                 has_tau ? analysis::FixedOrUndef(question.verdict->tau, 2) : "",
                 interval.has_value() ? analysis::IntervalText(*interval, 2) : "",
                 question.look.has_value() ? absl::StrCat(question.look->asked.above) : "",
                 question.outcome,
                 question.look.has_value()
                     ? absl::StrCat(question.look->look, " of ", question.look->asked.looks)
                     : "",
                 question.sweep.has_create_time()
                     ? FormatIsoTime(absl::FromUnixSeconds(
                           absl::ToUnixSeconds(TimeOf(question.sweep.create_time()))))
                     : "",
                 question.sweep.id()},
                QuestionJson(question));
  }
  listing.Print();
  if (others > 0) {
    PrintWarning(context,
                 absl::StrCat(others, others == 1 ? " sweep has" : " sweeps have", " a name \"",
                              std::string(kConcurrencePrefix),
                              "…\" and another description than this command writes; left out"));
  }
  return absl::OkStatus();
}

}  // namespace concur::cli
