// SPDX-License-Identifier: Apache-2.0
#include "yaml/yaml_reader.h"

#include <unistd.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "base/utf8.h"

namespace concur::spec {
namespace {

Position PositionOf(const YAML::Mark& mark) {
  return mark.is_null() ? Position{} : Position{mark.line + 1, mark.column + 1};
}

// Thrown through the library to end the parse early; caught in ParseYaml.
struct Refused {};

// Builds the tree from the library's events.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const std::string& path, ErrorList* errors) : path_(path), errors_(errors) {}

  YamlNode TakeRoot() { return std::move(root_); }
  Position document_at() const { return document_at_; }

  void OnDocumentStart(const YAML::Mark& mark) override { document_at_ = PositionOf(mark); }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    CheckAnchor(mark, anchor);
    if (ExpectsKey()) {
      Refuse(mark, "expected a key, got nothing");
    }
    YamlNode node;
    node.at = stack_.empty() || stack_.back().node.kind != YamlNode::Kind::kMap
                  ? PositionOf(mark)
                  : stack_.back().key_at;
    Place(mark, std::move(node));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    Refuse(mark, "aliases (*name) are not allowed; write the value out");
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    CheckAnchor(mark, anchor);
    CheckTag(mark, tag);
    if (ExpectsKey()) {
      TakeKey(mark, value, tag != "!");
      return;
    }
    YamlNode node;
    node.kind = YamlNode::Kind::kScalar;
    node.at = PositionOf(mark);
    node.text = value;
    node.plain = tag != "!";
    Place(mark, std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, YamlNode::Kind::kSequence);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, YamlNode::Kind::kMap);
  }
  void OnMapEnd() override { Close(); }

 private:
  struct Frame {
    YamlNode node;
    std::string field;
    bool has_key = false;  // a key was read, but not yet its value
    std::string key;
    Position key_at;
    std::unordered_map<std::string, Position> seen;
  };

  [[noreturn]] void Refuse(const YAML::Mark& mark, const std::string& message) {
    errors_->Add(path_, PositionOf(mark), CurrentField(), message);
    throw Refused();
  }

  bool ExpectsKey() const {
    return !stack_.empty() && stack_.back().node.kind == YamlNode::Kind::kMap &&
           !stack_.back().has_key;
  }

  std::string CurrentField() const {
    if (stack_.empty()) {
      return "";
    }
    const Frame& frame = stack_.back();
    if (frame.node.kind == YamlNode::Kind::kSequence) {
      return FieldPath(frame.field, frame.node.items.size());
    }
    return frame.has_key ? FieldPath(frame.field, frame.key) : frame.field;
  }

  void CheckAnchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0) {
      Refuse(mark, "anchors (&name) are not allowed; write the value out where it is needed");
    }
  }

  void CheckTag(const YAML::Mark& mark, const std::string& tag) {
    if (!tag.empty() && tag != "?" && tag != "!") {
      Refuse(mark, absl::StrCat("tags are not allowed, got ", Quoted(tag),
                                "; write the value alone, in quotes where it must be text"));
    }
  }

  void TakeKey(const YAML::Mark& mark, const std::string& key, bool plain) {
    if (plain && key == "<<") {
      Refuse(mark, "merge keys (<<) are not allowed; write the fields out");
    }
    Frame& frame = stack_.back();
    const auto [first, inserted] = frame.seen.emplace(key, PositionOf(mark));
    if (!inserted) {
      errors_->Add(path_, PositionOf(mark), FieldPath(frame.field, key),
                   absl::StrCat("expected each key once, got it again (first on line ",
                                first->second.line, "); remove one"));
    }
    frame.has_key = true;
    frame.key = key;
    frame.key_at = PositionOf(mark);
  }

  void Open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            YamlNode::Kind kind) {
    CheckAnchor(mark, anchor);
    CheckTag(mark, tag);
    if (ExpectsKey()) {
      Refuse(mark, "expected a key of text, got a list or mapping; put {…} values in quotes");
    }
    if (stack_.size() >= kYamlDepthMax) {
      Refuse(mark, absl::StrCat("expected at most ", kYamlDepthMax, " levels, got more"));
    }
    Frame frame;
    frame.field = CurrentField();
    frame.node.kind = kind;
    frame.node.at = PositionOf(mark);
    stack_.push_back(std::move(frame));
  }

  void Close() {
    YamlNode node = std::move(stack_.back().node);
    stack_.pop_back();
    Place(YAML::Mark::null_mark(), std::move(node));
  }

  void Place(const YAML::Mark& mark, YamlNode node) {
    if (++nodes_ > kYamlNodesMax) {
      Refuse(mark, absl::StrCat("expected at most ", kYamlNodesMax, " values, got more"));
    }
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = stack_.back();
    if (frame.node.kind == YamlNode::Kind::kSequence) {
      frame.node.items.push_back(std::move(node));
      return;
    }
    // The first value of a repeated key is kept, to find more errors.
    if (frame.seen.at(frame.key).line == frame.key_at.line &&
        frame.seen.at(frame.key).column == frame.key_at.column) {
      frame.node.entries.push_back({frame.key, frame.key_at, std::move(node)});
    }
    frame.has_key = false;
  }

  const std::string& path_;
  ErrorList* errors_;
  Position document_at_{1, 1};
  YamlNode root_;
  std::vector<Frame> stack_;
  size_t nodes_ = 0;
};

// Where the byte with this offset stands.
Position PositionOfByte(absl::string_view contents, int64_t offset) {
  const absl::string_view before = contents.substr(0, static_cast<size_t>(offset));
  const size_t newline = before.rfind('\n');
  const size_t line_start = newline == absl::string_view::npos ? 0 : newline + 1;
  return {1 + static_cast<int>(std::count(before.begin(), before.end(), '\n')),
          1 + static_cast<int>(before.size() - line_start)};
}

// Only UTF-8 without control characters is passed to the library.
bool CheckBytes(absl::string_view contents, const std::string& path, ErrorList* errors) {
  Position at{1, 1};
  for (size_t i = 0; i < contents.size();) {
    const auto byte = static_cast<unsigned char>(contents[i]);
    const size_t length = Utf8CharacterBytes(contents.substr(i));
    if (length == 0) {
      errors->Add(path, at, "",
                  absl::StrCat("expected UTF-8, got the byte 0x", absl::Hex(byte, absl::kZeroPad2),
                               "; convert the file, for example with iconv -t UTF-8"));
      return false;
    }
    if ((byte < 0x20 && byte != '\n' && byte != '\r' && byte != '\t') || byte == 0x7F) {
      errors->Add(path, at, "",
                  absl::StrCat("expected text, got the control character 0x",
                               absl::Hex(byte, absl::kZeroPad2), "; remove it"));
      return false;
    }
    i += length;
    at.column += static_cast<int>(length);
    if (byte == '\n') {
      ++at.line;
      at.column = 1;
    }
  }
  return true;
}

// True if a line has a placeholder such as {test} outside quotes: inside […] and {…}, YAML ends the
// value at the brace.
bool HasBarePlaceholder(absl::string_view line) {
  char quote = 0;
  size_t open = absl::string_view::npos;  // start of a {word
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      quote = c == quote ? '\0' : quote;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '{') {
      open = i;
    } else if (c == '}' && open != absl::string_view::npos && i > open + 1) {
      return true;
    } else if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.') {
      open = absl::string_view::npos;
    }
  }
  return false;
}

// Which of the lines before and at `line`, from 0, is indented with a tab, counted from 1; 0: none.
// Elsewhere tabs may be legal, as in block text.
size_t LineWithTab(const std::vector<absl::string_view>& lines, size_t line) {
  for (size_t i = line - std::min<size_t>(line, 1); i <= line && i < lines.size(); ++i) {
    const absl::string_view indentation = lines[i].substr(0, lines[i].find_first_not_of(" \t"));
    if (absl::StrContains(indentation, '\t') && indentation.size() < lines[i].size()) {
      return i + 1;
    }
  }
  return 0;
}

// The library's message about malformed text, with a hint.
std::string SyntaxMessage(const YAML::Exception& exception, absl::string_view contents) {
  const std::vector<absl::string_view> lines = absl::StrSplit(contents, '\n');
  const auto line = static_cast<size_t>(exception.mark.line);
  const bool bare =
      !exception.mark.is_null() && line < lines.size() && HasBarePlaceholder(lines[line]);
  const size_t tab = exception.mark.is_null() ? 0 : LineWithTab(lines, line);
  if (tab != 0) {
    return absl::StrCat("expected YAML, got text that is not: line ", tab,
                        " is indented with a tab; YAML takes blanks only");
  }
  return absl::StrCat("expected YAML, got text that is not: ", exception.msg,
                      bare
                          ? "; put values that hold { or } in quotes: \"--data={test}\""
                          : "; check indentation, quotes and brackets here and on the line before");
}

bool IsVariableName(absl::string_view name) {
  for (char c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-') {
      return false;
    }
  }
  return !name.empty();
}

std::vector<std::string> NamesOf(const Variables& variables) {
  std::vector<std::string> names;
  for (const auto& [name, variable] : variables) {
    names.push_back(name);
  }
  return names;
}

// Expands `node`; returns the error message, or "". Takes what the value has more than before from
// `bytes_left`, which the values of a file share.
std::string Expand(const Variables& variables, int64_t* bytes_left, YamlNode* node) {
  std::string expanded;
  const absl::string_view text = node->text;
  size_t i = 0;
  while (i < text.size()) {
    const size_t dollar = text.find('$', i);
    if (dollar == absl::string_view::npos) {
      absl::StrAppend(&expanded, text.substr(i));
      break;
    }
    absl::StrAppend(&expanded, text.substr(i, dollar - i));
    if (text.substr(dollar, 3) == "$${") {
      absl::StrAppend(&expanded, "${");
      i = dollar + 3;
      continue;
    }
    if (text.substr(dollar, 2) != "${") {
      absl::StrAppend(&expanded, "$");
      i = dollar + 1;
      continue;
    }
    const size_t end = text.find('}', dollar);
    const std::string name(
        text.substr(dollar + 2, end == absl::string_view::npos ? end : end - dollar - 2));
    const auto variable = variables.find(name);
    if (end == absl::string_view::npos || !IsVariableName(name) || variable == variables.end()) {
      return absl::StrCat("expected the name of a variable in ${…}, got ", Quoted(name),
                          DidYouMean(name, NamesOf(variables)),
                          "; declare it in the sweep's spec.variables, or write $${ for ${");
    }
    if (dollar == 0) {
      node->path_base = variable->second.path_base;
      node->variable = name;
    }
    *bytes_left -= static_cast<int64_t>(variable->second.value.size());
    if (*bytes_left < 0) {
      return absl::StrCat("expected variables that add at most ", kYamlBytesMax,
                          " bytes to the file, got more from ${", name, "} on");
    }
    absl::StrAppend(&expanded, variable->second.value);
    i = end + 1;
  }
  node->text = std::move(expanded);
  return "";
}

void Substitute(const Variables& variables, const std::string& file_path, const std::string& field,
                int64_t* bytes_left, YamlNode* node, ErrorList* errors) {
  if (node->kind == YamlNode::Kind::kScalar && absl::StrContains(node->text, "${")) {
    const std::string complaint = Expand(variables, bytes_left, node);
    if (!complaint.empty()) {
      errors->Add(file_path, node->at, field, complaint);
      // Nor is it reported as an unknown placeholder.
      std::erase_if(node->text, [](char c) { return c == '{' || c == '}'; });
    }
  }
  for (size_t i = 0; i < node->items.size(); ++i) {
    Substitute(variables, file_path, FieldPath(field, i), bytes_left, &node->items[i], errors);
  }
  for (YamlNode::Entry& entry : node->entries) {
    Substitute(variables, file_path, FieldPath(field, entry.key), bytes_left, &entry.value, errors);
  }
}

}  // namespace

std::string FieldPath(absl::string_view parent, absl::string_view key) {
  constexpr size_t kShownBytesMax = 60;
  bool simple = !key.empty() && key.size() <= kShownBytesMax;
  for (char c : key) {
    simple = simple && (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-');
  }
  const std::string shown = simple ? std::string(key) : Quoted(key, kShownBytesMax);
  return parent.empty() ? shown : absl::StrCat(parent, ".", shown);
}

std::string FieldPath(absl::string_view parent, size_t index) {
  return absl::StrCat(parent, "[", index, "]");
}

bool ParseYaml(absl::string_view contents, YamlFile* file, ErrorList* errors) {
  if (static_cast<int64_t>(contents.size()) > kYamlBytesMax) {
    errors->Add(file->path, PositionOfByte(contents, kYamlBytesMax), "",
                absl::StrCat("expected at most ", kYamlBytesMax,
                             " bytes, got more from here on; name large lists by the path of a ",
                             "file of their own"));
    return false;
  }
  if (!CheckBytes(contents, file->path, errors)) {
    return false;
  }
  TreeBuilder builder(file->path, errors);
  try {
    // The library accepts the end of the text as the end of an open quote, but not the end of a
    // document in it.
    std::istringstream input(
        absl::StrCat(contents, absl::EndsWith(contents, "\n") ? "" : "\n", "...\n"));
    YAML::Parser parser(input);
    parser.HandleNextDocument(builder);
    file->root = builder.TakeRoot();
    if (file->root.kind == YamlNode::Kind::kNull) {
      errors->Add(file->path, {1, 1}, "", "expected a document, got an empty file");
      return false;
    }
    TreeBuilder rest(file->path, errors);
    if (parser.HandleNextDocument(rest)) {
      errors->Add(file->path, rest.document_at(), "",
                  "expected one document, got another one here; put each in a file of its own");
      return false;
    }
  } catch (const Refused&) {
    return false;
  } catch (const YAML::Exception& exception) {
    errors->Add(file->path, PositionOf(exception.mark), "", SyntaxMessage(exception, contents));
    return false;
  }
  return true;
}

absl::StatusOr<std::string> OpenYamlFile(const std::string& path, YamlFile* file) {
  file->path = path;
  const std::string parent = std::filesystem::path(path).parent_path().string();
  file->directory = parent.empty() ? std::string(".") : parent;
  CONCUR_ASSIGN_OR_RETURN(const FileDescriptor fd, OpenRegularFile(path));
  std::string contents;
  std::array<char, 65536> block;
  while (static_cast<int64_t>(contents.size()) <= kYamlBytesMax) {
    const ssize_t got = read(fd.get(), block.data(), block.size());
    if (got < 0 && errno != EINTR) {
      return ErrnoStatus(errno, path, "read");
    }
    if (got == 0) {
      break;
    }
    contents.append(block.data(), static_cast<size_t>(std::max<ssize_t>(0, got)));
  }
  return contents;
}

void SubstituteVariables(const Variables& variables, const std::string& file_path,
                         const std::string& field, YamlNode* node, ErrorList* errors) {
  int64_t bytes_left = kYamlBytesMax;
  Substitute(variables, file_path, field, &bytes_left, node, errors);
}

}  // namespace concur::spec
