// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/data/annotate.h"

#include <memory>
#include <string>

#include "base/command/command.h"

namespace concur::cli {
namespace {

void AddServingOptions(Command& command, AnnotateFlags& flags) {
  command.AddOption("--dir", flags.directory, "where the annotations are kept")
      ->TypeName("DIR")
      ->ShowDefault();
  command
      .AddOption("--passages", flags.passages,
                 "JSON lines {id, title, text}, or a data set; of a new room")
      ->TypeName("FILE");
  command
      .AddOption("--onboarding", flags.onboarding,
                 "a data set with known answers, which each annotator answers first; of a new room")
      ->TypeName("FILE");
  command
      .AddOption(
          "--system", flags.systems,
          "who answers: a train job (s1/12), a file or folder with a trained system, or none; "
          "repeatable: a question must beat all")
      ->TypeName("SYSTEM")
      ->OneValueEach();
  command
      .AddOption("--approach", flags.approaches,
                 "file of the system's approach, with the field serve; of each, or one for all")
      ->TypeName("FILE")
      ->OneValueEach();
  command
      .AddOption(
          "--system-on", flags.system_on,
          "where the system answers: here, on this machine, is the only place; auto is the same")
      ->TypeName("PLACE")
      ->ShowDefault();
  command
      .AddOption("--var", flags.variables, "sets a variable of that file, such as device=cuda:0")
      ->TypeName("NAME=VALUE")
      ->OneValueEach();
  command.AddOption("--listen", flags.listen, "address of the page, on this machine")
      ->TypeName("HOST:PORT")
      ->ShowDefault();
  command
      .AddOption("--annotator", flags.annotators,
                 "prints a login link for this person, unless there was one before; repeatable")
      ->TypeName("NAME")
      ->OneValueEach();
  command
      .AddOption("--reviewer", flags.reviewers,
                 "likewise, for one who accepts or rejects questions and revokes their authors")
      ->TypeName("NAME")
      ->OneValueEach();
  command
      .AddOption("--new-link", flags.new_links,
                 "prints another link for this annotator, and ends the sessions of earlier ones")
      ->TypeName("NAME")
      ->OneValueEach();
  command
      .AddOption("--answer-seconds", flags.answer_seconds,
                 "a system that takes longer for an answer is started again")
      ->InRange<int64_t>(1, 600)
      ->ShowDefault();
  command
      .AddOption("--memory", flags.memory,
                 "a system whose processes take more memory is started again; 0: no limit")
      ->TypeName("SIZE")
      ->DefaultText("what its approach asks for to predict, else 8GiB");
  command
      .AddOption("--sandbox", flags.sandbox,
                 "what the system runs in: bubblewrap, podman or apptainer; auto: bubblewrap if "
                 "that works here; or none")
      ->TypeName("KIND")
      ->ShowDefault();
}

void AddSettings(Command& command, AnnotateFlags& flags) {
  constexpr char kHeading[] = "Settings of a new room";
  command
      .AddOption("--win-above", flags.win_above,
                 "the system wins above this word-overlap F1, and validators agree above it")
      ->DefaultText("0.4")
      ->Group(kHeading);
  command.AddOption("--validators", flags.validators, "answers of others that each question needs")
      ->DefaultText("2")
      ->Group(kHeading);
  command
      .AddOption("--agreement", flags.agreement,
                 "a question is dropped when a smaller share of its validators agrees")
      ->DefaultText("0.5")
      ->Group(kHeading);
  command
      .AddOption("--onboarding-f1", flags.onboarding_f1,
                 "mean F1 that an annotator must reach on the known questions")
      ->DefaultText("0.5")
      ->Group(kHeading);
  command
      .AddOption("--questions-per-passage", flags.questions_per_passage,
                 "questions that count; then nobody is given the passage to write for")
      ->DefaultText("5")
      ->Group(kHeading);
  command
      .AddOption("--hold-minutes", flags.hold_minutes,
                 "how long a passage waits for the annotator who has it")
      ->DefaultText("30")
      ->Group(kHeading);
  command
      .AddOption("--held-out", flags.held_out,
                 "share of the passages for validation and test, whose questions alone others "
                 "validate")
      ->DefaultText("1: all are validated")
      ->Group(kHeading);
  command
      .AddFlag("--answering", flags.answering,
               "--passages is a data set, whose questions each annotator answers; nobody writes")
      ->Group(kHeading);
  command
      .AddOption(
          "--qualification", flags.qualification,
          "first questions of each annotator that are reviewed before more are written; 80 % "
          "must be accepted")
      ->DefaultText("0")
      ->Group(kHeading);
  command
      .AddFlag("--share-passages", flags.share_passages,
               "several annotators may have one passage at a time")
      ->Group(kHeading);
}

}  // namespace

void AddAnnotateCommand(
    Command& app, CommandContext& context,
    const std::function<absl::Status(const AnnotateFlags&, CommandContext&)>& run) {
  Command* const command = app.AddSubcommand(
      "annotate",
      "People write questions that a trained system fails to answer: serves their page");
  const auto flags = std::make_shared<AnnotateFlags>();
  AddServingOptions(*command, *flags);
  AddSettings(*command, *flags);

  Command* const status =
      command->AddSubcommand("status", "counts, agreement, and how good each annotator is");
  status->AddOption("dir", flags->directory, "the directory of the room")->Required();
  status
      ->AddOption("--pay-question", flags->pay_question, "pay for a question that beats the system")
      ->InRange(0.0, 1e6);
  status->AddOption("--pay-validation", flags->pay_validation, "pay for a validation")
      ->InRange(0.0, 1e6);
  status->Footer(
      "Examples:\n  concur annotate status annotation\n  concur annotate status "
      "annotation -o json");
  OnRun(status, context, [flags, run, &context] {
    flags->verb = AnnotateFlags::Verb::kStatus;
    return run(*flags, context);
  });

  Command* const export_command =
      command->AddSubcommand("export", "the benchmark that the annotators made");
  export_command->AddOption("dir", flags->directory, "the directory of the room")->Required();
  export_command->AddOption("--out", flags->out, "folder to write to")->TypeName("DIR")->Required();
  export_command->AddOption("--name", flags->name, "of the benchmark")->ShowDefault();
  export_command->AddOption("--seed", flags->seed, "decides which passage is in which split")
      ->ShowDefault();
  export_command->AddOption("--validation", flags->validation_share, "share of the passages")
      ->ShowDefault();
  export_command->AddOption("--test", flags->test_share, "share of the passages")->ShowDefault();
  export_command
      ->AddOption("--answerable", flags->answerable,
                  "authors of whose validated questions fewer were answerable are left out; the "
                  "study's: 0.5")
      ->ShowDefault();
  export_command->Footer("Examples:\n  concur annotate export annotation --out data/hard");
  OnRun(export_command, context, [flags, run, &context] {
    flags->verb = AnnotateFlags::Verb::kExport;
    return run(*flags, context);
  });

  command->Footer(
      "Examples:\n"
      "  concur annotate --system s1/12 --approach configs/approaches/max-margin.yaml \\\n"
      "    --passages passages.jsonl --validators 1 --annotator ada --annotator bob\n"
      "  concur annotate --system none --passages passages.jsonl --validators 0 \\\n"
      "    --annotator ada\n"
      "  concur annotate --system none --answering --passages set.jsonl --annotator ada");
  // Runs after that of a subcommand.
  command->OnParsed([flags, run, status, export_command, &context] {
    if (!context.parse_only && !status->Parsed() && !export_command->Parsed()) {
      context.status = run(*flags, context);
    }
  });
}

}  // namespace concur::cli
