// SPDX-License-Identifier: Apache-2.0
// concur-annotate: does the work of `concur annotate`, with the same command line.
#include <signal.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/command/command.h"
#include "base/status_macros.h"
#include "cli/app/interrupt.h"
#include "cli/commands/data/annotate.h"
#include "cli/output/print.h"
#include "cli/output/table_output.h"
#include "cli/programs/concur_annotate/trained_system.h"
#include "cli/programs/run_command_line.h"
#include "report/table.h"
#include "studies/annotation/directory.h"
#include "studies/annotation/export_benchmark.h"
#include "studies/annotation/room.h"
#include "studies/annotation/server.h"
#include "studies/annotation/system.h"

namespace concur::cli {
namespace {

using analysis::IntegerCell;
using analysis::NumberCell;
using analysis::TextCell;
using annotation::Annotator;
using annotation::LiveRoom;
using annotation::Progress;
using annotation::Room;

std::optional<double> Percent(int64_t part, int64_t all) {
  return all == 0
             ? std::nullopt
             : std::make_optional(100.0 * static_cast<double>(part) / static_cast<double>(all));
}

// --- status, export ---

Json QualityJson(const std::string& name, const Annotator& one) {
  return {{"annotator", name},
          {"onboarded", one.onboarded},
          {"reviewer", one.is_reviewer},
          {"qualified", one.is_qualified},
          {"revoked", one.is_revoked},
          {"writing_seconds", absl::ToDoubleSeconds(one.writing)},
          {"validating_seconds", absl::ToDoubleSeconds(one.validating)},
          {"reviewed", one.reviewed},
          {"accepted", one.accepted},
          {"onboarding_rounds_failed", one.rounds_failed},
          {"attempts", one.attempts},
          {"wins", one.wins},
          {"kept", one.kept},
          {"dropped", one.dropped},
          {"validations_received", one.validations_received},
          {"agreements_received", one.agreements_received},
          {"validations", one.validations},
          {"agreements", one.agreements}};
}

std::string StandingOf(const Annotator& one) {
  return one.is_revoked     ? "revoked"
         : one.is_reviewer  ? "reviewer"
         : one.is_qualified ? "yes"
                            : "no";
}

Json ProgressJson(const Progress& progress) {
  return {{"passages", progress.passages},       {"passages_done", progress.passages_done},
          {"attempts", progress.attempts},       {"system_won", progress.system_won},
          {"waiting", progress.waiting},         {"kept", progress.kept},
          {"dropped", progress.dropped},         {"rejected", progress.rejected},
          {"validations", progress.validations}, {"agreements", progress.agreements}};
}

// The study's table of a room: time and pay, how often people win, how much is answerable.
struct Totals {
  absl::Duration writing;
  absl::Duration validating;
  int64_t wins = 0;
  double pay = 0;
};

double PayOf(const Annotator& one, const AnnotateFlags& flags) {
  return flags.pay_question * static_cast<double>(one.wins) +
         flags.pay_validation * static_cast<double>(one.validations);
}

std::optional<double> Ratio(double part, double all) {
  return all > 0 ? std::make_optional(part / all) : std::nullopt;
}

std::string Shown(std::optional<double> number) {
  return number.has_value() ? absl::StrFormat("%.1f", *number) : "–";
}

void PutTotals(const Room& room, const Totals& totals, Json& record, std::string& note) {
  const Progress& progress = room.progress();
  int64_t answerable = 0;
  int64_t validated = 0;
  for (const annotation::Attempt& attempt : room.attempts()) {
    const bool is_kept = attempt.state == annotation::QuestionState::kKept;
    if (!attempt.validations.empty() && !room.annotators().at(attempt.annotator).is_revoked &&
        (is_kept || attempt.state == annotation::QuestionState::kDropped)) {
      ++validated;
      answerable += is_kept ? 1 : 0;
    }
  }
  const auto per = [](absl::Duration time, int64_t count) {
    return Ratio(absl::ToDoubleSeconds(time), static_cast<double>(count));
  };
  const std::vector<std::pair<const char*, std::optional<double>>> values = {
      {"seconds_per_attempt", per(totals.writing, progress.attempts)},
      {"seconds_per_question", per(totals.writing, totals.wins)},
      {"seconds_per_validation", per(totals.validating, progress.validations)},
      {"human_wins_percent", Percent(totals.wins, progress.attempts)},
      {"answerable_percent", Percent(answerable, validated)},
      {"pay_per_hour", Ratio(totals.pay, absl::ToDoubleHours(totals.writing + totals.validating))}};
  for (const auto& [name, value] : values) {
    record[name] = value.has_value() ? Json(*value) : Json();
  }
  record["pay"] = totals.pay;
  note = absl::StrCat("people won ", Shown(values[3].second), " % of attempts; ",
                      Shown(values[4].second), " % of validated questions answerable; ",
                      Shown(values[0].second), " s an attempt, ", Shown(values[1].second),
                      " s a question that counts, ", Shown(values[2].second), " s a validation");
  if (totals.pay > 0) {
    absl::StrAppend(&note, "; pay ", absl::StrFormat("%.2f", totals.pay), ", ",
                    Shown(values[5].second), " an hour");
  }
}

absl::Status PrintStatus(const AnnotateFlags& flags, CommandContext& context) {
  CONCUR_ASSIGN_OR_RETURN(const Room room, annotation::ReadRoom(flags.directory));
  const Progress& progress = room.progress();
  std::vector<Column> columns = {{"annotator"},         {"onboarded"},         {"attempts", true},
                                 {"wins", true},        {"kept", true},        {"dropped", true},
                                 {"agreement %", true}, {"validations", true}, {"agreed %", true},
                                 {"reviewed", true},    {"accepted", true},    {"qualified"},
                                 {"minutes", true}};
  if (flags.pay_question > 0 || flags.pay_validation > 0) {
    columns.push_back({"pay", true});
  }
  analysis::Table table = ListTable(columns);
  Totals totals;
  Json record = ProgressJson(progress);
  record["annotators"] = Json::array();
  for (const auto& [name, one] : room.annotators()) {
    record["annotators"].push_back(QualityJson(name, one));
    table.rows.push_back(
        {TextCell(name), TextCell(one.onboarded ? "yes" : "no"), IntegerCell(one.attempts),
         IntegerCell(one.wins), IntegerCell(one.kept), IntegerCell(one.dropped),
         NumberCell(Percent(one.agreements_received, one.validations_received)),
         IntegerCell(one.validations), NumberCell(Percent(one.agreements, one.validations)),
         IntegerCell(one.reviewed), IntegerCell(one.accepted), TextCell(StandingOf(one)),
         NumberCell(absl::ToDoubleMinutes(one.writing + one.validating))});
    if (table.rows.back().size() < table.columns.size()) {
      table.rows.back().push_back(NumberCell(PayOf(one, flags)));
    }
    totals.writing += one.writing;
    totals.validating += one.validating;
    totals.wins += one.wins;
    totals.pay += PayOf(one, flags);
  }
  std::string note;
  PutTotals(room, totals, record, note);
  if (IsJson(context)) {
    PrintJson(context, record);
    return absl::OkStatus();
  }
  PrintRows(table, context);
  PrintNote(context, note);
  PrintNote(context,
            absl::StrCat(progress.passages_done, " of ", progress.passages, " passages done; ",
                         progress.attempts, " attempts: the system won ", progress.system_won, ", ",
                         progress.waiting, " wait for validators, ", progress.kept, " kept, ",
                         progress.dropped, " dropped, ", progress.rejected, " rejected"));
  return absl::OkStatus();
}

absl::Status PrintAnswers(const Room& room, const annotation::ExportOptions& options,
                          CommandContext& context) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<annotation::ExportedPerson> people,
                          annotation::ExportAnswers(room, options));
  analysis::Table table =
      ListTable({{"annotator"}, {"answers", true}, {"exact match", true}, {"F1", true}});
  Json record = Json::array();
  for (const annotation::ExportedPerson& one : people) {
    record.push_back({{"annotator", one.name},
                      {"answers", one.answers},
                      {"exact_match", one.exact_match},
                      {"f1", one.f1}});
    table.rows.push_back({TextCell(one.name), IntegerCell(one.answers), NumberCell(one.exact_match),
                          NumberCell(one.f1)});
  }
  if (IsJson(context)) {
    PrintJson(context, record);
    return absl::OkStatus();
  }
  PrintRows(table, context);
  const auto whole = std::find_if(people.begin(), people.end(), [&room](const auto& one) {
    return static_cast<size_t>(one.answers) == room.questions().size();
  });
  PrintNote(context,
            absl::StrCat(options.directory,
                         "/human-em.csv and human-f1.csv have the "
                         "scores of those who answered all ",
                         room.questions().size(), " questions: add --reference human-", whole->name,
                         "=", options.name, ":", absl::StrFormat("%.2f", whole->f1),
                         " to concur rank, or the rows to the file of --scores"));
  return absl::OkStatus();
}

absl::Status Export(const AnnotateFlags& flags, CommandContext& context) {
  CONCUR_ASSIGN_OR_RETURN(const Room room, annotation::ReadRoom(flags.directory));
  annotation::ExportOptions options;
  options.directory = flags.out;
  options.name = flags.name;
  options.seed = flags.seed;
  options.validation_share = flags.validation_share;
  options.test_share = flags.test_share;
  options.answerable_min = flags.answerable;
  if (room.settings().answering) {
    return PrintAnswers(room, options, context);
  }
  CONCUR_ASSIGN_OR_RETURN(const annotation::ExportResult result,
                          annotation::ExportBenchmark(room, options));
  analysis::Table table = ListTable({{"split"},
                                     {"path"},
                                     {"passages", true},
                                     {"questions", true},
                                     {"human", true},
                                     {"human F1", true}});
  Json record = {{"splits", Json::array()},        {"attempts", result.attempts_path},
                 {"dropped", result.dropped},      {"unanswerable", result.unanswerable},
                 {"rejected", result.rejected},    {"waiting", result.waiting},
                 {"system_won", result.system_won}};
  for (const annotation::ExportedSplit& split : result.splits) {
    record["splits"].push_back({{"split", split.name},
                                {"path", split.path},
                                {"passages", split.passages},
                                {"questions", split.questions},
                                {"validated", split.validated},
                                {"human_exact_match", split.human_exact_match},
                                {"human_f1", split.human_f1}});
    const auto human = [&split](double score) {
      return NumberCell(split.validated == 0 ? std::nullopt : std::make_optional(score));
    };
    table.rows.push_back({TextCell(split.name), TextCell(split.path), IntegerCell(split.passages),
                          IntegerCell(split.questions), human(split.human_exact_match),
                          human(split.human_f1)});
  }
  if (IsJson(context)) {
    PrintJson(context, record);
    return absl::OkStatus();
  }
  PrintRows(table, context);
  PrintNote(context, absl::StrCat("left out: ", result.dropped,
                                  " questions with too little "
                                  "agreement, ",
                                  result.unanswerable, " of authors with too few answerable ones, ",
                                  result.rejected, " that reviewers rejected, ", result.waiting,
                                  " that wait for validators; ", result.attempts_path,
                                  " has every attempt"));
  return absl::OkStatus();
}

// --- serving ---

annotation::Settings SettingsOf(const AnnotateFlags& flags, annotation::Settings settings) {
  settings.f1_win_max = flags.win_above.value_or(settings.f1_win_max);
  settings.validators = flags.validators.value_or(settings.validators);
  settings.agreement_min = flags.agreement.value_or(settings.agreement_min);
  settings.onboarding_f1_min = flags.onboarding_f1.value_or(settings.onboarding_f1_min);
  settings.questions_per_passage =
      flags.questions_per_passage.value_or(settings.questions_per_passage);
  if (flags.hold_minutes.has_value()) {
    settings.hold = absl::Minutes(*flags.hold_minutes);
  }
  settings.share_passages = settings.share_passages || flags.share_passages;
  settings.answering = settings.answering || flags.answering;
  settings.held_out = flags.held_out.value_or(settings.held_out);
  settings.qualification = flags.qualification.value_or(settings.qualification);
  return settings;
}

absl::StatusOr<std::unique_ptr<LiveRoom>> OpenRoom(const AnnotateFlags& flags, Clock& clock,
                                                   annotation::RoomLock lock) {
  if (!annotation::HasRoom(flags.directory)) {
    if (flags.passages.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--passages: expected a file, since there is no room in ", flags.directory, " yet"));
    }
    CONCUR_RETURN_IF_ERROR(annotation::MakeRoom(flags.directory, flags.passages, flags.onboarding,
                                                SettingsOf(flags, {}), clock.Now()));
  }
  CONCUR_ASSIGN_OR_RETURN(std::unique_ptr<LiveRoom> room,
                          LiveRoom::Open(flags.directory, std::move(lock)));
  CONCUR_RETURN_IF_ERROR(room->CheckIsOf(flags.passages, flags.onboarding));
  const annotation::Settings& settings = room->room().settings();
  return SettingsOf(flags, settings) == settings
             ? absl::StatusOr<std::unique_ptr<LiveRoom>>(std::move(room))
             : absl::FailedPreconditionError(
                   absl::StrCat(flags.directory,
                                ": a room keeps the settings that it was opened with; leave "
                                "them out, or choose another --dir"));
}

absl::Status UseSystems(const std::vector<TrainedSystem>& trained, Clock& clock, LiveRoom& room) {
  std::vector<std::string> digests;
  digests.reserve(trained.size());
  for (const TrainedSystem& one : trained) {
    digests.push_back(one.digest);
  }
  if (room.room().systems() == digests) {
    return absl::OkStatus();
  }
  annotation::Event event;
  event.kind = annotation::EventKind::kSystem;
  event.time = absl::FromUnixMillis(absl::ToUnixMillis(clock.Now()));
  event.systems = std::move(digests);
  return room.Commit(event);
}

// Those who are to get a link: the new ones, and who is to have another. Each once.
absl::StatusOr<std::vector<std::string>> NeedLinks(const AnnotateFlags& flags,
                                                   const std::map<std::string, Annotator>& known) {
  std::vector<std::string> names;
  const auto add = [&names](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
    }
  };
  for (const std::string& name : flags.annotators) {
    if (!known.contains(name)) {
      add(name);
    }
  }
  for (const std::string& name : flags.reviewers) {
    const auto found = known.find(name);
    if (found != known.end() && found->second.is_revoked) {
      return absl::FailedPreconditionError(
          absl::StrCat("--reviewer: a reviewer has revoked ", name, "; name somebody else"));
    }
    if (found == known.end() || !found->second.is_reviewer) {
      add(name);
    }
  }
  for (const std::string& name : flags.new_links) {
    if (!known.contains(name)) {
      return absl::NotFoundError(
          absl::StrCat("--new-link: there is no annotator ", name, "; --annotator adds one"));
    }
    add(name);
  }
  return names;
}

absl::Status PrintLinks(annotation::AnnotationServer& server, const AnnotateFlags& flags,
                        const std::vector<std::string>& names, CommandContext& context) {
  const std::set<std::string> reviewers(flags.reviewers.begin(), flags.reviewers.end());
  Json record = {{"page", server.address()}, {"links", Json::array()}};
  std::vector<std::pair<std::string, std::string>> lines = {{"page", server.address()}};
  for (const std::string& name : names) {
    CONCUR_ASSIGN_OR_RETURN(const std::string link,
                            server.MakeLink(name, reviewers.contains(name)));
    record["links"].push_back({{"annotator", name}, {"link", link}});
    lines.emplace_back(name, link);
  }
  PrintDetails(context, lines, record);
  if (!names.empty()) {
    PrintNote(context, "each link logs its annotator in once; --new-link makes another");
  }
  context.out << std::flush;
  return absl::OkStatus();
}

// Checks what can be wrong besides the room. A room keeps its settings, so that a mistake elsewhere
// must not make one.
absl::Status CheckServing(const AnnotateFlags& flags) {
  if (flags.system_on != "here" && flags.system_on != "auto") {
    return absl::InvalidArgumentError(
        absl::StrCat("--system-on: expected here, as systems answer on this machine only, got \"",
                     flags.system_on, "\""));
  }
  for (const std::vector<std::string>& names : {flags.annotators, flags.reviewers}) {
    for (const std::string& name : names) {
      CONCUR_RETURN_IF_ERROR(annotation::CheckAnnotatorName(name));
    }
  }
  if (!annotation::HasRoom(flags.directory)) {
    CONCUR_RETURN_IF_ERROR(NeedLinks(flags, {}).status());
  }
  return annotation::AnnotationServer::ListenOn(flags.listen).status();
}

// The system that answers, once it has answered.
absl::StatusOr<std::unique_ptr<annotation::System>> StartSystem(const TrainedSystem& trained,
                                                                Clock& clock) {
  std::unique_ptr<annotation::System> system = annotation::MakeLocalSystem(clock, trained.options);
  const absl::Status tried = system->Answer("Ada lives in Bern.", "Where does Ada live?").status();
  return tried.ok() ? absl::StatusOr<std::unique_ptr<annotation::System>>(std::move(system))
                    : absl::FailedPreconditionError(tried.message());
}

void NoteTooFewPeople(const Room& room, const AnnotateFlags& flags,
                      const std::vector<std::string>& names, CommandContext& context) {
  std::set<std::string> people(names.begin(), names.end());
  std::set<std::string> others(flags.reviewers.begin(), flags.reviewers.end());
  for (const auto& [name, one] : room.annotators()) {
    (one.is_reviewer || one.is_revoked ? others : people).insert(name);
  }
  const bool has_reviewer = !flags.reviewers.empty() ||
                            std::any_of(room.annotators().begin(), room.annotators().end(),
                                        [](const auto& one) { return one.second.is_reviewer; });
  if (room.settings().qualification > 0 && !has_reviewer) {
    PrintNote(context,
              absl::StrCat("a reviewer must judge the first ", room.settings().qualification,
                           " questions of each annotator, and there is none: add one "
                           "with --reviewer"));
  }
  for (const std::string& name : others) {
    people.erase(name);
  }
  const auto needed = static_cast<size_t>(room.settings().validators);
  if (needed > 0 && people.size() <= needed) {
    PrintNote(context, absl::StrCat("a question is kept once ", needed,
                                    " other people have answered it, and there are ", people.size(),
                                    " besides reviewers: add more with --annotator"));
  }
}

absl::Status Serve(const AnnotateFlags& flags, CommandContext& context) {
  signal(SIGPIPE, SIG_IGN);  // a system that has ended is an error of its question
  SystemClock clock;
  CONCUR_ASSIGN_OR_RETURN(annotation::RoomLock lock, annotation::RoomLock::Take(flags.directory));
  CONCUR_RETURN_IF_ERROR(CheckServing(flags));
  CONCUR_ASSIGN_OR_RETURN(const std::vector<TrainedSystem> trained,
                          FindTrainedSystems(flags, context));
  std::vector<std::unique_ptr<annotation::System>> systems;
  std::vector<annotation::System*> answering;
  for (const TrainedSystem& one : trained) {
    CONCUR_ASSIGN_OR_RETURN(systems.emplace_back(), StartSystem(one, clock));
    answering.push_back(systems.back().get());
  }
  CONCUR_ASSIGN_OR_RETURN(std::unique_ptr<LiveRoom> room, OpenRoom(flags, clock, std::move(lock)));
  CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                          NeedLinks(flags, room->room().annotators()));
  if (!room->is_chained()) {
    PrintNote(context, absl::StrCat(flags.directory,
                                    "/log.jsonl: an earlier version made it; "
                                    "lines that are removed from it go unnoticed"));
  }
  CONCUR_RETURN_IF_ERROR(UseSystems(trained, clock, *room));
  NoteTooFewPeople(room->room(), flags, names, context);
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<annotation::AnnotationServer> server,
                          annotation::AnnotationServer::Start(
                              clock, std::move(room), std::move(systems),
                              {.listen = flags.listen, .key_path = flags.directory + "/key"}));
  absl::Notification ended;
  const InterruptScope interrupt([&ended] {
    if (!ended.HasBeenNotified()) {
      ended.Notify();
    }
  });
  CONCUR_RETURN_IF_ERROR(PrintLinks(*server, flags, names, context));
  ended.WaitForNotification();
  for (annotation::System* const system : answering) {
    system->Cancel();  // the server waits for the requests that it has
  }
  return absl::OkStatus();
}

absl::Status Annotate(const AnnotateFlags& flags, CommandContext& context) {
  switch (flags.verb) {
    case AnnotateFlags::Verb::kServe:
      return Serve(flags, context);
    case AnnotateFlags::Verb::kStatus:
      return PrintStatus(flags, context);
    case AnnotateFlags::Verb::kExport:
      return Export(flags, context);
  }
  return absl::InternalError("unknown verb");
}

int RunAnnotate(const std::vector<std::string>& args, CommandContext& context) {
  return RunCommandLine(args, {"The part of concur that serves annotators: concur annotate.", ""},
                        context, [](Command& app, CommandContext& command_context) {
                          AddAnnotateCommand(app, command_context, Annotate);
                        });
}

}  // namespace
}  // namespace concur::cli

int main(int argc, char** argv) {
  return concur::cli::RunAsProcess(argc, argv, concur::cli::RunAnnotate);
}
