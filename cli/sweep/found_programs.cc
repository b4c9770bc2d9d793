// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep/found_programs.h"

#include <glob.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/suggest.h"
#include "cli/sweep/required_programs.h"
#include "yaml/code_files.h"

namespace concur::cli {
namespace {

constexpr char kCodePlaceholder[] = "{code}";

bool IsBelowRoots(absl::string_view path) {
  constexpr absl::string_view kRoots[] = {"/bin/",  "/dev/",  "/etc/",  "/lib/", "/lib64/", "/nix/",
                                          "/proc/", "/sbin/", "/snap/", "/sys/", "/usr/"};
  return std::any_of(std::begin(kRoots), std::end(kRoots),
                     [&](absl::string_view root) { return absl::StartsWith(path, root); });
}

// True where a file lies, or its link leads, among a system's programs: a study does not change
// them, and `version` stands for them.
bool IsInstalled(const std::string& file) {
  std::error_code error;
  return IsBelowRoots(file) ||
         IsBelowRoots(std::filesystem::weakly_canonical(file, error).string());
}

// True of an interpreter, wherever it lies, and of a program beside this one of Concur's: `version`
// stands for them, too.
bool IsOfEnvironment(const std::filesystem::path& file) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (!error && file.parent_path() == self.parent_path()) || IsInterpreter(file.string());
}

// The code of a command, as it sees it.
struct CodePlace {
  std::string root;             // absolute; "" without code
  std::set<std::string> files;  // below the root
};

struct CodePlaces {
  CodePlace train;
  CodePlace predict;
};

std::vector<CodePlaces> CodePlacesOf(const spec::LoadedSweep& sweep) {
  std::vector<CodePlaces> places(sweep.spec.approaches.size());
  for (const spec::LoadedSweep::CodeOf& code : sweep.codes) {
    std::error_code error;
    CodePlace place;
    place.root = std::filesystem::absolute(code.use.root, error).lexically_normal().string();
    place.root = std::string(absl::StripSuffix(place.root, "/"));
    place.files.insert(code.files.begin(), code.files.end());
    CodePlaces& both = places[code.approach];
    if (!code.of_predict) {
      both.train = place;
    }
    if (code.of_predict || both.predict.root.empty()) {
      both.predict = std::move(place);
    }
  }
  return places;
}

// A command of an approach with its code.
struct Step {
  const std::vector<std::string>& command;
  const CodePlace& code;
  const std::optional<Digest>& program;
};

std::vector<Step> StepsOf(const ApproachSpec& approach, const CodePlaces& code) {
  std::vector<Step> steps = {{approach.train_command, code.train, approach.train_program},
                             {approach.predict_command, code.predict, approach.predict_program}};
  if (approach.service) {
    steps.push_back({approach.service->command, code.predict, approach.service->program});
  }
  return steps;
}

// The programs of a command as absolute paths where they are in the code.
std::set<std::string> ProgramsIn(std::vector<std::string> command, const CodePlace& code) {
  if (!code.root.empty()) {
    for (std::string& argument : command) {
      argument = absl::StrReplaceAll(argument, {{kCodePlaceholder, code.root}});
    }
    if (!command.empty() && command[0][0] != '/' && absl::StrContains(command[0], '/')) {
      command[0] = absl::StrCat(code.root, "/", command[0]);
    }
  }
  std::set<std::string> programs;
  for (const std::string& program : ProgramsOf(command)) {
    programs.insert(program[0] == '/' ? std::filesystem::path(program).lexically_normal().string()
                                      : program);
  }
  return programs;
}

// True if the path is of a file of the code, or a folder that has one.
bool HasFile(const CodePlace& code, absl::string_view relative) {
  const auto it = code.files.lower_bound(std::string(relative));
  const std::string folder = absl::StrCat(relative, "/");
  const auto inside = code.files.lower_bound(folder);
  return (it != code.files.end() && *it == relative) ||
         (inside != code.files.end() && absl::StartsWith(*inside, folder));
}

// The problem with relative paths of a command, and the remedy.
std::string EmptyDirectoryText(const std::vector<std::string>& files, bool is_listed) {
  return absl::StrCat("the job's own directory, which starts empty: ",
                      is_listed           ? ""
                      : files.size() == 1 ? "list it in the approach's field code, and "
                                          : "list them in the approaches' field code, and ",
                      "write {code}/", files[0]);
}

void Judge(const CodePlace& code, absl::string_view path, FoundProgram* program) {
  absl::string_view relative = program->name;
  if (!code.root.empty() && absl::ConsumePrefix(&relative, absl::StrCat(code.root, "/"))) {
    if (HasFile(code, relative)) {
      program->where = program->name;
    } else {
      program->remedy = absl::StrCat(program->name, " is not among the files of the field code");
    }
  } else if (absl::StartsWith(program->name, ".")) {
    const std::string file(absl::StripPrefix(program->name, "./"));
    program->remedy = absl::StrCat(program->name, " would lie in ",
                                   EmptyDirectoryText({file}, HasFile(code, file)));
  } else {
    program->where = FindProgram(program->name, path);
  }
}

// The code's name of an absolute path; "" for one that is not below its root.
absl::string_view NameInCode(const CodePlace& code, absl::string_view path) {
  return !code.root.empty() && absl::ConsumePrefix(&path, absl::StrCat(code.root, "/")) ? path : "";
}

// True of a folder with anything in it, but for one that everybody writes to, as /tmp, one below
// the root, as /data, and the home folder: a command names these for other reasons.
bool IsUsersFolder(const std::string& folder) {
  std::error_code error;
  const char* home = std::getenv("HOME");  // NOLINT(concurrency-mt-unsafe): never set here
  if (std::count(folder.begin(), folder.end(), '/') < 2 || (home != nullptr && folder == home)) {
    return false;
  }
  const std::filesystem::file_status status = std::filesystem::status(folder, error);
  return std::filesystem::is_directory(status) &&
         (status.permissions() & std::filesystem::perms::sticky_bit) ==
             std::filesystem::perms::none &&
         !std::filesystem::is_empty(folder, error) && !error;
}

// True of a folder that has programs, as modules that a script imports unnamed and as rules of
// make.
bool HasPrograms(const std::string& folder) {
  constexpr int kEntriesMax = 1000;
  constexpr absl::string_view kSuffixes[] = {".jl", ".js", ".mjs", ".pl", ".py",
                                             ".r",  ".rb", ".sh",  ".ts"};
  constexpr absl::string_view kNames[] = {"gnumakefile", "makefile", "package.json", "snakefile"};
  std::error_code error;
  std::error_code ignored;
  std::filesystem::directory_iterator entry(folder, error);
  for (int i = 0; !error && i < kEntriesMax && entry != std::filesystem::directory_iterator();
       ++i, entry.increment(error)) {
    const std::string name = absl::AsciiStrToLower(entry->path().filename().string());
    const std::string suffix = std::filesystem::path(name).extension().string();
    if (std::find(std::begin(kSuffixes), std::end(kSuffixes), suffix) != std::end(kSuffixes) ||
        std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames) ||
        std::filesystem::exists(entry->path() / "__init__.py", ignored)) {
      return true;
    }
  }
  return false;
}

// A file or folder of a user's, of whose contents no key knows.
bool IsInNoCode(const std::string& file, const CodePlace& code) {
  std::error_code error;
  const absl::string_view name = NameInCode(code, file);
  return !file.empty() && file[0] == '/' && !IsInstalled(file) && !IsOfEnvironment(file) &&
         file != code.root && (name.empty() || !HasFile(code, name)) &&
         (std::filesystem::is_regular_file(file, error) || IsUsersFolder(file));
}

// Where the workers are expected to look for programs, too; with an environment, which has others,
// those of a system alone.
absl::string_view PathOf(const ApproachSpec& approach, absl::string_view path) {
  if (approach.environment) {
    return "/usr/bin";
  }
  const auto own = approach.env.find("PATH");
  return own == approach.env.end() ? path : absl::string_view(own->second);
}

// The program as a path, if it is found on this machine.
std::string FileOf(const std::string& program, absl::string_view path) {
  const std::string file = FindProgram(program, path);
  std::error_code error;
  return file.empty() ? "" : std::filesystem::absolute(file, error).lexically_normal().string();
}

constexpr char kWordEnds[] = " \t\n'\"`=,;:|&<>()[]#?@";
constexpr size_t kFilledMax = 256;

// The paths that a shell makes of a word with "*", at most kFilledMax; the word itself without.
std::vector<std::string> ExpandPattern(const std::string& word) {
  if (!absl::StrContains(word, '*')) {
    return {word};
  }
  constexpr ptrdiff_t kStarsMax = 2;  // each may lead through many folders
  std::vector<std::string> paths;
  glob_t found{};
  if (std::count(word.begin(), word.end(), '*') <= kStarsMax) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): reads the environment, which is never set here
    if (glob(word.c_str(), GLOB_NOESCAPE, nullptr, &found) == 0) {
      paths.assign(found.gl_pathv, found.gl_pathv + std::min(found.gl_pathc, kFilledMax));
    }
  }
  globfree(&found);
  return paths;
}

// Absolute paths in a text: all of it, what stands between spaces, quotes and signs, as in
// "model=/m,file=/f" and "F=/x.py; python3 $F", and what follows an option's letters, "-c/x". Those
// that begin with the home folder, as a shell knows it, are absolute.
void AddPaths(absl::string_view text, std::set<std::string>* paths) {
  const auto add = [&](absl::string_view word) {
    const char* home = std::getenv("HOME");  // NOLINT(concurrency-mt-unsafe): never set here
    const bool is_at_home = home != nullptr && (absl::ConsumePrefix(&word, "~/") ||
                                                absl::ConsumePrefix(&word, "$HOME/") ||
                                                absl::ConsumePrefix(&word, "${{HOME}}/"));
    const std::string file = is_at_home ? absl::StrCat(home, "/", word) : std::string(word);
    if (absl::StartsWith(file, "/") && !absl::StrContains(file, '{') &&
        file.size() < kPathBytesMax) {
      for (const std::string& one : ExpandPattern(file)) {
        const std::string path = std::filesystem::path(one).lexically_normal().string();
        paths->emplace(absl::StripSuffix(path, "/"));
      }
    }
  };
  add(text);
  for (absl::string_view word : absl::StrSplit(text, absl::ByAnyChar(kWordEnds))) {
    add(absl::StartsWith(word, "-") ? word.substr(std::min(word.find('/'), word.size())) : word);
  }
}

// Files below `folders` that words of a command name: "./run" and "x.py" after "cd /folder",
// "$D/run" after "D=/folder", "run" after "PATH=/folder", and the modules of "-m NAME".
std::set<std::string> FilesNamedBelow(const std::set<std::string>& folders,
                                      const std::vector<std::string>& command, bool modules_only) {
  std::set<std::string> files;
  const auto add = [&](const std::string& path) {
    std::error_code error;
    for (const std::string& one :
         path.size() < kPathBytesMax ? ExpandPattern(path) : std::vector<std::string>()) {
      if (std::filesystem::is_regular_file(one, error)) {
        files.insert(std::filesystem::path(one).lexically_normal().string());
      }
    }
  };
  bool is_module = false;
  const std::string text = absl::StrJoin(command, " ");
  const bool sets_path = absl::StrContains(text, "PATH=");
  for (absl::string_view word :
       absl::StrSplit(text, absl::ByAnyChar(kWordEnds), absl::SkipEmpty())) {
    const bool is_path =
        !modules_only && word[0] != '/' && (sets_path || word.find_first_of("./") != word.npos);
    if (is_path && word[0] == '$') {
      word.remove_prefix(std::min(word.find('/'), word.size()));
    }
    is_module = absl::ConsumePrefix(&word, "-m") || is_module;
    for (const std::string& folder : folders) {
      if (is_path) {
        add(absl::StrCat(folder, "/", word));
      }
      if (is_module && !word.empty()) {
        const std::string path =
            absl::StrCat(folder, "/", absl::StrReplaceAll(word, {{".", "/"}, {"/", "-"}}));
        for (const char* end : {".py", "/__main__.py", "/__init__.py"}) {
          add(path + end);
        }
      }
    }
    is_module = is_module && word.empty();
  }
  return files;
}

// The values that placeholders of a command may have, by placeholder.
using Values = std::map<std::string, std::set<std::string>>;

Values ValuesOf(const ApproachSpec& approach) {
  Values values;
  for (const auto& [name, value] : approach.hyperparameters.defaults) {
    values[absl::StrCat("{hp.", name, "}")].insert(ParamText(value));
  }
  for (const auto& [name, distribution] : approach.hyperparameters.space) {
    if (const auto* choice = std::get_if<Choice>(&distribution)) {
      for (const ParamValue& value : choice->values) {
        values[absl::StrCat("{hp.", name, "}")].insert(ParamText(value));
      }
    }
  }
  return values;
}

// The values of placeholders that every approach has: parameters of benchmarks, and seeds.
Values ValuesOf(const SweepSpec& sweep) {
  Values values;
  for (const BenchmarkSpec& benchmark : sweep.benchmarks) {
    for (const auto& [name, value] : benchmark.parameters) {
      values[absl::StrCat("{benchmark.", name, "}")].insert(value);
    }
  }
  for (size_t i = 0; i < std::min(sweep.seeds.size(), kFilledMax); ++i) {
    values["{seed}"].insert(absl::StrCat(sweep.seeds[i]));
  }
  return values;
}

// Replaces each word by what it is with each of the values; at most kFilledMax.
void FillPlaceholders(const Values& values, std::vector<std::string>* words) {
  for (const auto& [placeholder, texts] : values) {
    if (!absl::StrContains(words->front(), placeholder)) {
      continue;
    }
    std::vector<std::string> filled;
    for (const std::string& word : *words) {
      for (auto text = texts.begin(); text != texts.end() && filled.size() < kFilledMax; ++text) {
        filled.push_back(absl::StrReplaceAll(word, {{placeholder, *text}}));
      }
    }
    *words = std::move(filled);
  }
}

// The folders of a PATH that are a user's.
std::string UserPathOf(absl::string_view path) {
  std::vector<absl::string_view> folders = absl::StrSplit(path, ':', absl::SkipEmpty());
  std::erase_if(folders,
                [](absl::string_view folder) { return IsBelowRoots(absl::StrCat(folder, "/")); });
  return absl::StrJoin(folders, ":");
}

// The programs that run the scripts among `files`: "/opt/run" of one that begins with "#!/opt/run",
// and what "#!/usr/bin/env NAME" finds on the path.
std::set<std::string> InterpretersOf(const std::set<std::string>& files, absl::string_view path) {
  constexpr size_t kLineBytesMax = 256;
  std::set<std::string> interpreters;
  for (const std::string& file : files) {
    std::error_code error;
    if (IsBelowRoots(file) || !std::filesystem::is_regular_file(file, error) ||
        !spec::IsScript(file)) {
      continue;
    }
    std::string line(kLineBytesMax, '\0');
    std::ifstream(file).read(line.data(), kLineBytesMax);
    line.resize(std::min(line.find_first_of("\n\0", 0, 2), line.size()));
    AddPaths(line.substr(2), &interpreters);
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    for (size_t i = 1; i < words.size(); ++i) {
      interpreters.insert(FileOf(std::string(words[i]), path));
    }
  }
  return interpreters;
}

// The files that a command, its variables and values name by absolute paths, those of the programs
// and modules that it starts, and folders, but the script that is digested.
std::set<std::string> FilesNamed(const ApproachSpec& approach, const Step& step,
                                 const Values& shared, absl::string_view path) {
  std::set<std::string> files;
  for (const std::string& program : ProgramsIn(step.command, step.code)) {
    files.insert(FileOf(program, path));
  }
  const Values values = ValuesOf(approach);
  const std::string user_path = UserPathOf(path);
  for (std::string word : step.command) {
    if (!step.code.root.empty()) {
      word = absl::StrReplaceAll(word, {{kCodePlaceholder, step.code.root}});
    }
    std::vector<std::string> filled = {word};
    FillPlaceholders(values, &filled);
    FillPlaceholders(shared, &filled);
    for (const std::string& one : filled) {
      AddPaths(one, &files);
    }
    // "srun -n 2 PROGRAM": of a starter that is not known, any word may be its program.
    for (const absl::string_view part :
         absl::StrSplit(word, absl::ByAnyChar(kWordEnds), absl::SkipEmpty())) {
      if (!user_path.empty() && !absl::StrContains(part, '/')) {
        files.insert(FileOf(std::string(part), user_path));
      }
    }
  }
  constexpr int kInterpretersMax = 4;  // an interpreter may be a script, too
  std::set<std::string> scripts = files;
  for (int i = 0; i < kInterpretersMax && !scripts.empty(); ++i) {
    scripts = InterpretersOf(scripts, user_path);
    files.insert(scripts.begin(), scripts.end());
  }
  files.erase("");  // a program that is not here
  if (step.program) {
    files.erase(FileOf(step.command[0], path));
  }
  std::set<std::string> others;
  for (const auto& [name, value] : approach.env) {
    AddPaths(value, &others);
  }
  for (const auto& [placeholder, texts] : values) {
    for (const std::string& text : texts) {
      AddPaths(text, &others);  // CONCUR_HP_NAME has it, too
    }
  }
  std::set<std::string> folders = files;
  folders.insert(others.begin(), others.end());
  if (const char* python = std::getenv("PYTHONPATH")) {  // NOLINT(concurrency-mt-unsafe)
    AddPaths(python, &folders);
  }
  // Variables name many a folder that a program writes to.
  std::erase_if(others, [](const std::string& file) {
    std::error_code error;
    return std::filesystem::is_directory(file, error) && !HasPrograms(file);
  });
  files.merge(others);
  files.merge(FilesNamedBelow(folders, step.command, /*modules_only=*/false));
  return files;
}

// True of a machine's own files, which a command sees beside those of a venv or conda.
bool SeesMachine(const ApproachSpec& approach) {
  return !approach.environment || approach.environment->kind == EnvironmentKind::kVenv ||
         approach.environment->kind == EnvironmentKind::kConda;
}

std::set<std::string> ProgramsOf(const ApproachSpec& approach, const Step& step) {
  std::set<std::string> programs = ProgramsIn(step.command, step.code);
  if (approach.environment) {  // it has all but those of the code
    std::erase_if(programs, [&](const std::string& program) {
      return NameInCode(step.code, program).empty();
    });
  }
  return programs;
}

// The arguments of a command that are files of a folder, which no job sees: relative scripts, and
// modules that are not `named` otherwise, and other arguments that look like a file's path. A name
// that only happens to be a file's ("squad") may be one of the program's own words.
std::set<std::string> FilesBeside(const std::vector<std::string>& command, const CodePlace& code,
                                  const std::string& folder, const std::set<std::string>& named,
                                  bool programs_too) {
  std::set<std::string> files;
  const auto add = [&](absl::string_view argument) {
    const std::string file =
        std::filesystem::path(std::string(argument)).lexically_normal().string();
    std::error_code error;
    if (!file.empty() && file[0] != '/' && !absl::StrContains(file, "{") &&
        !absl::StartsWith(file, "../") &&  // code cannot lead out of the folder
        std::filesystem::is_regular_file(std::filesystem::path(folder) / file, error)) {
      files.insert(file);
    }
  };
  for (const std::string& module : FilesNamedBelow({folder}, command, /*modules_only=*/true)) {
    if (!named.contains(std::filesystem::absolute(module).lexically_normal().string()) &&
        !absl::StrContains(absl::StrJoin(command, " "), kCodePlaceholder)) {
      add(std::filesystem::path(module).lexically_relative(folder).string());
    }
  }
  for (size_t i = 1; i < command.size(); ++i) {
    if (absl::StrContains(command[i], ".") || absl::StrContains(command[i], "/")) {
      add(absl::StripPrefix(command[i], "@"));
    }
  }
  for (const std::string& program : ProgramsIn(command, code)) {
    if (program[0] == '.' && !programs_too) {
      files.erase(std::filesystem::path(program).lexically_normal().string());
    } else if (program[0] == '.') {
      add(program);
    }
  }
  return files;
}

// Files that a warning is about, by name, and the approaches whose commands name them.
struct UsedFiles {
  std::string place;  // belongs to the first file
  std::vector<std::string> files;
  std::vector<std::string> approaches;

  void Add(const std::string& file, const std::string& approach, const std::string& first_place) {
    if (files.empty()) {
      place = first_place;
    }
    for (auto [list, name] : {std::pair(&files, &file), std::pair(&approaches, &approach)}) {
      if (std::find(list->begin(), list->end(), *name) == list->end()) {
        list->push_back(*name);
      }
    }
  }
  // "a.py, b.py and 2 more, which approaches x, y, z and 4 more VERB, ".
  std::string Text(absl::string_view verb) const {
    constexpr size_t kShownMax = 3;
    const bool is_one = approaches.size() == 1;
    return absl::StrCat(place, FirstNames(files, ", ", kShownMax), ", which ",
                        is_one ? "approach " : "approaches ",
                        FirstNames(approaches, ", ", kShownMax), " ", verb, is_one ? "s, " : ", ");
  }
};

}  // namespace

std::string SearchPath() {
  const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): never set here
  return path == nullptr ? "" : path;
}

void DigestPrograms(absl::string_view path, spec::LoadedSweep* sweep) {
  for (ApproachSpec& approach : sweep->spec.approaches) {
    std::vector commands = {std::pair(&approach.train_command, &approach.train_program),
                            std::pair(&approach.predict_command, &approach.predict_program)};
    if (approach.service) {
      commands.emplace_back(&approach.service->command, &approach.service->program);
    }
    for (const auto& [command, program] : commands) {
      if (command->empty() || command->front().empty() || approach.environment ||
          IsInterpreter(command->front())) {
        continue;
      }
      const std::string file = FileOf(command->front(), PathOf(approach, path));
      if (file.empty() || IsInstalled(file) || !spec::IsScript(file)) {
        continue;
      }
      if (const absl::StatusOr<FileDigest> digest = DigestFile(file); digest.ok()) {
        *program = digest->digest;
      }
    }
  }
}

std::vector<std::string> WarnOfProgramsInNoCode(const spec::LoadedSweep& sweep,
                                                absl::string_view path, bool programs_too) {
  const std::vector<CodePlaces> codes = CodePlacesOf(sweep);
  const Values shared = ValuesOf(sweep.spec);
  UsedFiles in_no_code;
  UsedFiles unseen;
  UsedFiles unseen_but_listed;
  for (size_t i = 0; i < codes.size(); ++i) {
    const ApproachSpec& approach = sweep.spec.approaches[i];
    const auto found = sweep.places.find(absl::StrCat("approaches[", i, "]"));
    const std::string place = found == sweep.places.end() ? "" : found->second;
    for (const Step& step : StepsOf(approach, codes[i])) {
      if (step.command.empty()) {
        continue;
      }
      const std::set<std::string> files =
          SeesMachine(approach) ? FilesNamed(approach, step, shared, PathOf(approach, path))
                                : ProgramsOf(approach, step);
      std::set<std::string> unknown;
      std::copy_if(files.begin(), files.end(), std::inserter(unknown, unknown.end()),
                   [&](const std::string& file) { return IsInNoCode(file, step.code); });
      for (const std::string& file : unknown) {
        const auto inside = unknown.upper_bound(file + "/");
        if (inside == unknown.end() || !absl::StartsWith(*inside, file + "/")) {
          in_no_code.Add(file, approach.name, place);  // else a folder with a file that is named
        }
      }
      if (i >= sweep.approach_folders.size()) {
        continue;
      }
      for (const std::string& file :
           FilesBeside(step.command, step.code, sweep.approach_folders[i], files, programs_too)) {
        (HasFile(step.code, file) ? unseen_but_listed : unseen).Add(file, approach.name, place);
      }
    }
  }
  std::vector<std::string> warnings;
  for (const auto& [used, is_listed] :
       {std::pair(&unseen, false), std::pair(&unseen_but_listed, true)}) {
    if (!used->files.empty()) {
      warnings.push_back(absl::StrCat(used->Text("name"), "would lie in ",
                                      EmptyDirectoryText(used->files, is_listed)));
    }
  }
  if (!in_no_code.files.empty()) {
    const bool is_one = in_no_code.files.size() == 1;
    warnings.push_back(absl::StrCat(
        in_no_code.Text("name"), is_one ? "is" : "are", " in no code: when ",
        is_one ? "it changes" : "they change", ", finished results are still reused; list ",
        is_one ? "it" : "them", " in the approach's field code, or ", "raise its version then"));
  }
  return warnings;
}

std::vector<FoundProgram> FindPrograms(const spec::LoadedSweep& sweep, absl::string_view path) {
  const std::vector<CodePlaces> codes = CodePlacesOf(sweep);
  std::map<std::string, FoundProgram> found;
  for (size_t i = 0; i < codes.size(); ++i) {
    const ApproachSpec& approach = sweep.spec.approaches[i];
    for (const Step& step : StepsOf(approach, codes[i])) {
      for (const std::string& name : ProgramsOf(approach, step)) {
        FoundProgram program{
            .name = name, .where = "", .approaches = {approach.name}, .remedy = ""};
        Judge(step.code, PathOf(approach, path), &program);
        // The same path may be in one approach's code and missing in another's: missing counts.
        const auto [it, is_new] = found.try_emplace(name, program);
        it->second.approaches.insert(approach.name);
        if (program.where.empty()) {
          it->second.remedy = program.remedy;
          it->second.where.clear();
        }
      }
    }
  }
  std::vector<FoundProgram> programs;
  programs.reserve(found.size());
  for (auto& [name, program] : found) {
    programs.push_back(std::move(program));
  }
  return programs;
}

absl::Status CheckPrograms(const std::vector<FoundProgram>& programs) {
  std::vector<std::string> missing;
  std::vector<std::string> remedies;
  for (const FoundProgram& program : programs) {
    if (program.where.empty()) {
      const size_t others = program.approaches.size() - 1;
      missing.push_back(absl::StrCat(program.name, " (approach ", *program.approaches.begin(),
                                     others == 0 ? "" : absl::StrCat(" and ", others, " more"),
                                     ")"));
      if (!program.remedy.empty()) {
        remedies.push_back(program.remedy);
      }
    }
  }
  if (missing.empty()) {
    return absl::OkStatus();
  }
  constexpr size_t kShownMax = 3;
  const auto shown = [&](std::vector<std::string> texts, absl::string_view separator) {
    const bool more = texts.size() > kShownMax;
    texts.resize(std::min(texts.size(), kShownMax));
    return absl::StrCat(absl::StrJoin(texts, separator), more ? ", …" : "");
  };
  std::string message = absl::StrCat("not found on this machine: ", shown(missing, ", "));
  if (remedies.size() < missing.size()) {
    absl::StrAppend(&message, "; install them on every worker, or run this where the workers run");
  }
  if (!remedies.empty()) {
    absl::StrAppend(&message, "; ", shown(remedies, "; "));
  }
  return absl::FailedPreconditionError(message);
}

}  // namespace concur::cli
