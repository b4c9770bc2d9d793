// SPDX-License-Identifier: Apache-2.0
#include "base/command/help_files.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/version.h"

namespace concur {
namespace {

// --- The command tree ---

std::vector<const CLI::App*> CommandsUnder(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

// Arguments, which may have a name, too, or options.
std::vector<const CLI::Option*> VisibleOptions(const CLI::App& app, bool positional) {
  return app.get_options([positional](const CLI::Option* option) {
    return option->get_positional() == positional && !option->get_group().empty();
  });
}

// Options that are given by name.
std::vector<const CLI::Option*> NamedOptions(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) {
    return option->nonpositional() && !option->get_group().empty();
  });
}

bool TakesValue(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

// "concur sweep submit"
std::string PathOf(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name()
                                     : absl::StrCat(PathOf(*app.get_parent()), " ", app.get_name());
}

// The first line or sentence of what a command is about, and the rest.
std::pair<std::string, std::string> AboutOf(const CLI::App& app) {
  const std::string about = app.get_description();
  const size_t end = std::min(about.find('\n'), about.find(". "));
  if (end == std::string::npos) {
    return {std::string(absl::StripSuffix(about, ".")), ""};
  }
  return {about.substr(0, end),
          std::string(absl::StripAsciiWhitespace(absl::string_view(about).substr(end + 1)))};
}

// "{text,json}" of "TEXT:{text,json}": the values that an option takes, where they are known.
std::string ChoicesOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t open = type.find(":{");
  return open == std::string::npos ? "" : type.substr(open + 1);
}

// --- Man pages ---

std::string Roff(absl::string_view text) {
  std::string escaped = absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}, {"\n.", "\n\\&."}});
  return absl::StartsWith(escaped, ".") || absl::StartsWith(escaped, "'") ? "\\&" + escaped
                                                                          : escaped;
}

std::string Bold(absl::string_view text) { return absl::StrCat("\\fB", Roff(text), "\\fR"); }
std::string Italic(absl::string_view text) { return absl::StrCat("\\fI", Roff(text), "\\fR"); }

std::string ValueText(const CLI::Option& option) {
  const std::string choices = ChoicesOf(option);
  const std::string type = option.get_type_name();
  return choices.empty() ? Italic(type.substr(0, type.find(':'))) : Roff(choices);
}

// Notes that help prints after an option's description.
std::string NotesOf(const CLI::Option& option) {
  std::string notes;
  const std::string type = option.get_type_name();
  if (const size_t range = type.find(" in ["); range != std::string::npos) {
    absl::StrAppend(&notes, " In the range ", type.substr(range + 4), ".");
  }
  if (!option.get_default_str().empty()) {
    absl::StrAppend(&notes, " Default: ", option.get_default_str(), ".");
  }
  if (!option.get_envname().empty()) {
    absl::StrAppend(&notes, " Environment: ", option.get_envname(), ".");
  }
  if (option.get_required()) {
    absl::StrAppend(&notes, " Required.");
  }
  return notes;
}

std::string EntryOf(const CLI::Option& option) {
  std::vector<std::string> names;
  if (option.get_positional()) {
    names.push_back(Italic(option.get_name(/*positional=*/true)));
  }
  for (const std::string& name : option.get_snames()) {
    names.push_back(Bold("-" + name));
  }
  for (const std::string& name : option.get_lnames()) {
    names.push_back(Bold("--" + name));
  }
  const std::string heading = absl::StrCat(
      absl::StrJoin(names, ", "),
      option.nonpositional() && TakesValue(option) ? absl::StrCat(" ", ValueText(option)) : "");
  std::string about = option.get_description();
  const std::string notes = NotesOf(option);
  if (!notes.empty() && !about.empty() && !absl::EndsWith(about, ".")) {
    about += ".";
  }
  return absl::StrCat(".TP\n", heading, "\n",
                      Roff(absl::StripLeadingAsciiWhitespace(about + notes)), "\n");
}

// --help is described once, where the program's own options are.
std::string EntriesOf(const CLI::App& app) {
  std::string text;
  for (const bool positional : {true, false}) {
    for (const CLI::Option* option : VisibleOptions(app, positional)) {
      if (option != app.get_help_ptr() || app.get_parent() == nullptr) {
        text += EntryOf(*option);
      }
    }
  }
  return text;
}

std::string SynopsisOf(const CLI::App& app) {
  std::string text = Bold(PathOf(app));
  if (!VisibleOptions(app, false).empty()) {
    absl::StrAppend(&text, " [", Italic("OPTIONS"), "]");
  }
  for (const CLI::Option* option : VisibleOptions(app, true)) {
    const std::string name = absl::StrCat(Italic(option->get_name(/*positional=*/true)),
                                          option->get_items_expected_max() > 1 ? "..." : "");
    absl::StrAppend(&text, " ", option->get_required() ? name : absl::StrCat("[", name, "]"));
  }
  if (!CommandsUnder(app).empty()) {
    absl::StrAppend(&text, " ", Italic("COMMAND"));
  }
  return text + "\n";
}

// A footer, whose headings become sections of the page.
std::string FooterOf(const CLI::App& app) {
  std::string text;
  bool open = false;  // in lines that are kept as they are
  for (absl::string_view line : absl::StrSplit(app.get_footer(), '\n', absl::SkipEmpty())) {
    for (const absl::string_view heading : {"Examples:", "Exit codes:", "Environment:"}) {
      if (absl::ConsumePrefix(&line, heading)) {
        absl::StrAppend(&text, open ? ".EE\n" : "", ".SH ",
                        absl::AsciiStrToUpper(absl::StripSuffix(heading, ":")), "\n.EX\n");
        open = true;
      }
    }
    if (!open) {
      text += ".SH NOTES\n.EX\n";
      open = true;
    }
    if (const absl::string_view words = absl::StripAsciiWhitespace(line); !words.empty()) {
      absl::StrAppend(&text, Roff(words), "\n");
    }
  }
  return open ? text + ".EE\n" : text;
}

// A command within the page of its group, and those under it.
std::string SubsectionsOf(const CLI::App& group) {
  std::string text;
  for (const CLI::App* command : CommandsUnder(group)) {
    absl::StrAppend(&text, ".SS ", SynopsisOf(*command), Roff(command->get_description()), "\n",
                    EntriesOf(*command), command->get_footer().empty() ? "" : ".PP\n.EX\n",
                    Roff(command->get_footer()), command->get_footer().empty() ? "" : "\n.EE\n",
                    SubsectionsOf(*command));
  }
  return text;
}

std::string PageName(const CLI::App& app) { return absl::StrReplaceAll(PathOf(app), {{" ", "-"}}); }

// The page of a program (its commands are only named) or of one of its commands.
std::string ManPage(const CLI::App& app) {
  const bool is_program = app.get_parent() == nullptr;
  const auto [about, more] = AboutOf(app);
  std::string text = absl::StrCat(".TH ", absl::AsciiStrToUpper(PageName(app)), " 1 \"\" \"Concur ",
                                  kVersion, "\" \"Concur\"\n.SH NAME\n", Roff(PageName(app)),
                                  " \\- ", Roff(about), "\n.SH SYNOPSIS\n", SynopsisOf(app));
  if (!more.empty()) {
    absl::StrAppend(&text, ".SH DESCRIPTION\n", Roff(more), "\n");
  }
  std::vector<std::string> related;
  if (is_program && !CommandsUnder(app).empty()) {
    text += ".SH COMMANDS\n";
    std::string heading = "Subcommands";
    for (const CLI::App* command : CommandsUnder(app)) {
      if (command->get_group() != heading) {
        heading = command->get_group();
        absl::StrAppend(&text, ".SS ", Roff(heading), "\n");
      }
      absl::StrAppend(&text, ".TP\n", Bold(command->get_name()), "\n",
                      Roff(AboutOf(*command).first), "\n");
      related.push_back(absl::StrCat(Bold(PageName(*command)), "(1)"));
    }
  }
  const std::string options = EntriesOf(app);
  absl::StrAppend(&text, options.empty() ? "" : ".SH OPTIONS\n", options);
  if (!is_program) {
    absl::StrAppend(&text, CommandsUnder(app).empty() ? "" : ".SH COMMANDS\n", SubsectionsOf(app));
    related.push_back(absl::StrCat(Bold(app.get_parent()->get_name()), "(1)"));
  }
  absl::StrAppend(&text, FooterOf(app));
  if (!related.empty()) {
    absl::StrAppend(&text, ".SH SEE ALSO\n", absl::StrJoin(related, ",\n"), "\n");
  }
  return text;
}

// --- Completion ---

// The shells ask the program, so that they know what it knows; NAME is its name.
constexpr char kBash[] = R"(# SPDX-License-Identifier: Apache-2.0
_complete_NAME() {
  local IFS=$'\n'
  COMPREPLY=($(NAME --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
  if [[ ${COMPREPLY[0]} == */ ]]; then
    compopt -o nospace
  fi
}
complete -o default -F _complete_NAME NAME
)";
constexpr char kZsh[] = R"(#compdef NAME
# SPDX-License-Identifier: Apache-2.0
local -a found
found=("${(@f)$(NAME --complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
if [[ -n "${found[1]}" ]]; then
  found=("${(@)found//:/\\:}")
  found=("${(@)found/$'\t'/:}")
  if [[ "${found[1]}" == */* && "${found[1]%%:*}" == */ ]]; then
    _describe NAME found -S ''
  else
    _describe NAME found
  fi
else
  _files
fi
)";
constexpr char kFish[] = R"(# SPDX-License-Identifier: Apache-2.0
function __complete_NAME
    set -l words (commandline -opc) (commandline -ct)
    set -l found (NAME --complete $words[2..-1] 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c NAME -f -a '(__complete_NAME)'
)";

const CLI::Option* OptionNamed(const CLI::App& app, const std::string& name) {
  for (const CLI::App* level = &app; level != nullptr; level = level->get_parent()) {
    if (const CLI::Option* option = level->get_option_no_throw(name)) {
      return option;
    }
  }
  return nullptr;
}

void AddCandidate(absl::string_view prefix, const std::string& name, absl::string_view meaning,
                  std::string* candidates) {
  if (absl::StartsWith(name, prefix)) {
    absl::StrAppend(candidates, name, "\t", meaning.substr(0, meaning.find('\n')), "\n");
  }
}

}  // namespace

std::vector<HelpFile> HelpFilesOf(const CLI::App& program) {
  const std::string& name = program.get_name();
  const auto man_file = [](const CLI::App& app) {
    return HelpFile{absl::StrCat("man/man1/", PageName(app), ".1"), ManPage(app)};
  };
  const auto shell_file = [&name](const std::string& path, const char* script) {
    return HelpFile{path, absl::StrReplaceAll(script, {{"NAME", name}})};
  };
  std::vector<HelpFile> files = {
      man_file(program), shell_file("bash-completion/completions/" + name, kBash),
      shell_file("zsh/vendor-completions/_" + name, kZsh),
      shell_file(absl::StrCat("fish/vendor_completions.d/", name, ".fish"), kFish)};
  for (const CLI::App* command : CommandsUnder(program)) {
    files.push_back(man_file(*command));
  }
  return files;
}

std::string CompletionsOf(const CLI::App& program, const std::vector<std::string>& words,
                          const ListNames& list) {
  const CLI::App* command = &program;
  size_t arguments = 0;                  // number of arguments of `command` before the last word
  const CLI::Option* awaited = nullptr;  // the option whose value is the next word
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "=") {
      continue;  // bash makes three words of --option=value
    }
    if (awaited != nullptr) {
      awaited = nullptr;
    } else if (absl::StartsWith(words[i], "-")) {
      const CLI::Option* const option = OptionNamed(*command, words[i]);
      awaited = option != nullptr && TakesValue(*option) ? option : nullptr;
    } else {
      const CLI::App* const group = command;
      for (const CLI::App* next : CommandsUnder(*group)) {
        command = next->get_name() == words[i] ? next : command;
      }
      arguments = command == group ? arguments + 1 : 0;
    }
  }
  const std::string last = words.empty() || words.back() == "=" ? "" : words.back();
  std::string candidates;
  const std::vector<const CLI::Option*> positional = VisibleOptions(*command, /*positional=*/true);
  if (awaited == nullptr && !absl::StartsWith(last, "-") && arguments < positional.size()) {
    awaited = positional[arguments];
  }
  if (awaited != nullptr && ChoicesOf(*awaited).empty()) {
    if (list != nullptr) {
      for (const auto& [name, meaning] : list(awaited->get_type_name(), last)) {
        AddCandidate(last, name, meaning, &candidates);
      }
    }
  } else if (awaited != nullptr) {
    const std::string choices = ChoicesOf(*awaited);
    for (const absl::string_view choice :
         absl::StrSplit(choices, absl::ByAnyChar("{,}"), absl::SkipEmpty())) {
      AddCandidate(last, std::string(choice), "", &candidates);
    }
  } else if (absl::StartsWith(last, "-")) {
    for (const CLI::App* level = command; level != nullptr; level = level->get_parent()) {
      for (const CLI::Option* option : NamedOptions(*level)) {
        if (level != command && option == level->get_help_ptr()) {
          continue;  // each level has its own --help
        }
        for (const std::string& name : option->get_lnames()) {
          AddCandidate(last, "--" + name, option->get_description(), &candidates);
        }
      }
    }
  } else {
    for (const CLI::App* next : CommandsUnder(*command)) {
      AddCandidate(last, next->get_name(), next->get_description(), &candidates);
    }
  }
  return candidates;
}

std::optional<int> AnswerHelpRequest(const CLI::App& program, const std::vector<std::string>& args,
                                     std::ostream& out, std::ostream& err, const ListNames& list) {
  if (!args.empty() && args[0] == "--complete") {
    out << CompletionsOf(program, {args.begin() + 1, args.end()}, list);
    return 0;
  }
  if (args.size() != 2 || args[0] != "--write-help") {
    return std::nullopt;
  }
  for (const HelpFile& file : HelpFilesOf(program)) {
    const std::string path = absl::StrCat(args[1], "/", file.path);
    absl::Status status = MakeDirectories(path.substr(0, path.rfind('/')));
    if (status.ok()) {
      status = WriteFileAtomically(path, file.text, 0644);
    }
    if (!status.ok()) {
      err << program.get_name() << ": error: " << status.message() << "\n";
      return 1;
    }
  }
  return 0;
}

}  // namespace concur
