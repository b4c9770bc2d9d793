// SPDX-License-Identifier: Apache-2.0
#include "qa/json_items.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "qa/json_fields.h"
#include "qa/json_text.h"
#include "qa/raw_bytes.h"
#include "qa/raw_stream.h"

namespace concur::qa {
namespace {

constexpr size_t kFrameBytesMax = size_t{1} << 20;

// `text` begins inside a string: returns the bytes before the closing quote, or all if there is
// none. `escaped` says whether a backslash precedes the first byte, and is set for the byte after
// the last. REQUIRES: `text` is not empty after a backslash.
inline size_t StringBytes(absl::string_view text, bool& escaped) {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const char* next = escaped ? begin + 1 : begin;
  escaped = false;
  while (true) {
    const void* const found = std::memchr(next, '"', static_cast<size_t>(end - next));
    const char* const stop = found == nullptr ? end : static_cast<const char*>(found);
    const char* backslashes = stop;
    while (backslashes > next && backslashes[-1] == '\\') {
      --backslashes;
    }
    const bool is_escaped = (stop - backslashes) % 2 == 1;
    if (found == nullptr) {
      escaped = is_escaped;
    }
    if (found == nullptr || !is_escaped) {
      return static_cast<size_t>(stop - begin);
    }
    next = stop + 1;
  }
}

// The role of a byte of an item, outside strings.
enum class Meaning : uint8_t { kNothing, kQuote, kOpen, kClose, kComma, kNewLine };

Meaning MeaningOf(char c) {
  static constexpr std::array<Meaning, 256> kMeanings = [] {
    std::array<Meaning, 256> meanings{};
    meanings['"'] = Meaning::kQuote;
    meanings['{'] = meanings['['] = Meaning::kOpen;
    meanings['}'] = meanings[']'] = Meaning::kClose;
    meanings[','] = Meaning::kComma;
    meanings['\n'] = Meaning::kNewLine;
    return meanings;
  }();
  return kMeanings[static_cast<unsigned char>(c)];
}

bool IsJsonSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// The text of ExplainJsonError without its place: line numbers of the frame are not those of the
// file.
std::string Reason(const std::string& explained) {
  const size_t colon = explained.find(": ");
  return colon == std::string::npos ? explained : explained.substr(colon + 2);
}

// Splits a document into items. The frame is the rest of the document.
class Splitter {
 public:
  // Items are the elements of the list `list`, or the document's members when it is empty.
  Splitter(const std::string& path, absl::string_view list, const OnJsonItem& on_item)
      : path_(path), list_(list), key_(absl::StrCat("\"", list, "\":")), on_item_(on_item) {}

  absl::Status Feed(absl::string_view block) {
    block_ = block;
    copied_ = 0;
    position_ = 0;
    while (position_ < block.size()) {
      if (in_string_) {
        position_ += StringBytes(block.substr(position_), escaped_);
        in_string_ = position_ == block.size();
        position_ += in_string_ ? 0 : 1;
      } else if (!in_items_) {
        TakeInFrame(block[position_]);
        ++position_;
      } else {
        CONCUR_RETURN_IF_ERROR(begun_ ? TakeInItem() : TakeBetweenItems(block[position_]));
      }
    }
    return Copy(block.size());
  }

  absl::Status Finish();
  int64_t line() const { return line_; }

 private:
  std::string Place() const {
    return list_.empty() ? absl::StrCat(path_, ":", item_line_)
                         : absl::StrCat(path_, ":", item_line_, ": ", list_, "[", items_, "]");
  }
  absl::Status Invalid(absl::string_view message) const {
    return absl::InvalidArgumentError(absl::StrCat(path_, ":", line_, ": ", message));
  }
  void TakeInFrame(char c);
  // These two advance `position_`.
  absl::Status TakeBetweenItems(char c);
  absl::Status TakeInItem();
  absl::Status EndItem(bool last);
  // Appends the bytes between `copied_` and `end` to the item or the frame.
  absl::Status Copy(size_t end);

  const std::string& path_;
  const absl::string_view list_;
  const std::string key_;
  const OnJsonItem& on_item_;

  absl::string_view block_;
  size_t position_ = 0;  // in the block
  size_t copied_ = 0;    // bytes of the block already copied

  bool in_string_ = false;
  bool escaped_ = false;
  bool in_items_ = false;
  bool seen_items_ = false;
  bool begun_ = false;  // inside an item
  bool more_ = false;   // more text follows the document
  int depth_ = 0;       // open brackets: in the frame, or in the item
  int64_t line_ = 1;
  int64_t item_line_ = 1;
  int64_t items_ = 0;
  std::string item_;
  std::string frame_;
  simdjson::dom::parser parser_;
};

absl::Status Splitter::Copy(size_t end) {
  const absl::string_view bytes = block_.substr(copied_, end - copied_);
  copied_ = end;
  if (in_items_) {
    if (begun_) {
      item_.append(bytes.data(), bytes.size());
      if (item_.size() > kJsonItemBytesMax) {
        return absl::InvalidArgumentError(
            absl::StrCat(Place(), ": the item has more than ", kJsonItemBytesMax >> 20, " MiB"));
      }
    }
    return absl::OkStatus();
  }
  frame_.append(bytes.data(), bytes.size());
  if (frame_.size() > kFrameBytesMax) {
    return Invalid(list_.empty()
                       ? "expected a JSON object"
                       : absl::StrCat("expected a JSON object with the list \"", list_, "\""));
  }
  return absl::OkStatus();
}

// At a bracket, first copies the frame's bytes so far, as they may hold the list's key.
void Splitter::TakeInFrame(char c) {
  line_ += c == '\n' ? 1 : 0;
  more_ = more_ || (seen_items_ && depth_ == 0 && !IsJsonSpace(c));
  switch (c) {
    case '"':
      in_string_ = true;
      return;
    case '{':
    case '[': {
      const bool first_level = list_.empty() ? depth_ == 0 && c == '{' : depth_ == 1 && c == '[';
      ++depth_;
      if (!first_level || seen_items_) {
        return;
      }
      absl::string_view before = block_.substr(copied_, position_ - copied_);
      frame_.append(before.data(), before.size());
      copied_ = position_;
      std::string tail;
      for (size_t i = frame_.size(); i > 0 && tail.size() <= key_.size(); --i) {
        if (!IsJsonSpace(frame_[i - 1])) {
          tail.insert(tail.begin(), frame_[i - 1]);
        }
      }
      const bool is_list = list_.empty() || (tail.size() > key_.size() && tail[0] != '\\' &&
                                             absl::EndsWith(tail, key_));
      if (is_list) {
        frame_.push_back(c);
        copied_ = position_ + 1;
        in_items_ = true;
        seen_items_ = true;
        depth_ = 0;
      }
      return;
    }
    case '}':
    case ']':
      --depth_;
      return;
    default:
      return;
  }
}

absl::Status Splitter::TakeBetweenItems(char c) {
  if (c == ',' || c == ']' || c == '}') {
    CONCUR_RETURN_IF_ERROR(EndItem(c != ','));
    ++position_;
  } else if (IsJsonSpace(c)) {
    line_ += c == '\n' ? 1 : 0;
    ++position_;
  } else {
    begun_ = true;
    copied_ = position_;
    item_line_ = line_;
    if (list_.empty()) {
      item_.push_back('{');
    }
  }
  return absl::OkStatus();
}

// Advances past the byte that ends the item, or to the end of the block.
absl::Status Splitter::TakeInItem() {
  size_t at = position_;
  for (; at < block_.size(); ++at) {
    switch (MeaningOf(block_[at])) {
      case Meaning::kNothing:
        continue;
      case Meaning::kQuote:
        at += 1 + StringBytes(block_.substr(at + 1), escaped_);
        in_string_ = at == block_.size();
        continue;
      case Meaning::kOpen:
        ++depth_;
        continue;
      case Meaning::kNewLine:
        ++line_;
        continue;
      case Meaning::kClose:
      case Meaning::kComma:
        break;
    }
    if (depth_ > 0) {
      depth_ -= block_[at] == ',' ? 0 : 1;
      continue;
    }
    position_ = at;
    CONCUR_RETURN_IF_ERROR(EndItem(block_[at] != ','));
    ++position_;
    return absl::OkStatus();
  }
  position_ = block_.size();
  return absl::OkStatus();
}

absl::Status Splitter::EndItem(bool last) {
  if (!begun_) {
    if (!last || items_ > 0) {
      return Invalid("not valid JSON: expected a value");
    }
  } else {
    CONCUR_RETURN_IF_ERROR(Copy(position_));
    if (list_.empty()) {
      item_.push_back('}');
    }
    const size_t size = item_.size();
    item_.append(kRawPadding, '\0');
    JsonFields::Element value;
    const simdjson::error_code code =
        parser_.parse(item_.data(), size, /*realloc_if_needed=*/false).get(value);
    if (code != simdjson::SUCCESS) {
      JsonFields fields;
      fields.place = Place();
      return fields.BadJson(absl::string_view(item_).substr(0, size), code, item_line_);
    }
    CONCUR_RETURN_IF_ERROR(on_item_(value, Place()));
    ++items_;
    item_.clear();
    begun_ = false;
  }
  copied_ = position_;
  if (last) {
    in_items_ = false;
    depth_ = list_.empty() ? 0 : 1;
  }
  return absl::OkStatus();
}

absl::Status Splitter::Finish() {
  if (in_items_) {
    return Invalid(absl::StrCat("the file ends early, inside ",
                                list_.empty() ? "its object" : absl::StrCat("the list ", list_)));
  }
  if (more_) {
    return Invalid("expected nothing after the document's object, found more");
  }
  const size_t size = frame_.size();
  frame_.append(kRawPadding, '\0');
  JsonFields::Element value;
  const simdjson::error_code code = parser_.parse(frame_.data(), size, false).get(value);
  JsonFields fields;
  fields.place = absl::StrCat(path_, ":", line_);
  if (code != simdjson::SUCCESS) {
    const absl::string_view frame = absl::string_view(frame_).substr(0, size);
    return size == 0     ? fields.Invalid("the file is empty; expected a JSON object")
           : seen_items_ ? fields.Invalid(absl::StrCat("not valid JSON around the items: ",
                                                       Reason(ExplainJsonError(frame))))
                         : fields.BadJson(frame, code);
  }
  if (seen_items_) {
    return absl::OkStatus();
  }
  if (list_.empty()) {
    return fields.Wrong("document", "an object", value);
  }
  JsonFields::Element other;
  if (value.at_key(std::string_view(list_.data(), list_.size())).get(other) == simdjson::SUCCESS) {
    return fields.Wrong(list_, "a list", other);
  }
  return fields.Invalid(absl::StrCat("expected an object with the list \"", list_, "\""));
}

absl::Status Walk(const std::string& path, absl::string_view list, const OnJsonItem& on_item) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<RawStream> stream, RawStream::Open(path));
  Splitter splitter(path, list, on_item);
  for (bool first = true;; first = false) {
    absl::StatusOr<absl::string_view> block = stream->Next();
    if (!block.ok()) {
      return AtLine(block.status(), path, splitter.line());
    }
    if (block->empty()) {
      return splitter.Finish();
    }
    if (first && (absl::StartsWith(*block, "\xFF\xFE") || absl::StartsWith(*block, "\xFE\xFF"))) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":1: expected UTF-8, found UTF-16; convert the file"));
    }
    if (first) {
      absl::ConsumePrefix(&*block, "\xEF\xBB\xBF");
    }
    CONCUR_RETURN_IF_ERROR(splitter.Feed(*block));
  }
}

}  // namespace

absl::Status ForEachListItem(const std::string& path, absl::string_view list,
                             const OnJsonItem& on_item) {
  return Walk(path, list, on_item);
}

absl::Status ForEachMember(const std::string& path, const OnJsonItem& on_item) {
  return Walk(path, "", on_item);
}

absl::Status ForEachJsonLine(const std::string& path, const OnJsonItem& on_item,
                             size_t line_bytes_max) {
  simdjson::dom::parser parser;
  JsonFields fields;
  const auto parse = [&](const LineReader& lines) {
    const absl::string_view line = lines.line();
    fields.place = lines.place();
    JsonFields::Element value;
    const simdjson::error_code code =
        parser.parse(line.data(), line.size(), /*realloc_if_needed=*/true).get(value);
    return code == simdjson::SUCCESS ? on_item(value, fields.place)
                                     : fields.BadJson(line, code, lines.number());
  };
  return ForEachTextLine(path, parse, line_bytes_max);
}

absl::StatusOr<bool> FirstObjectHas(const std::string& path, absl::string_view key) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<RawStream> stream, RawStream::Open(path));
  std::string last;  // current or last string, up to one byte more than the key
  int depth = 0;
  bool in_string = false;
  bool escaped = false;
  for (bool first = true;; first = false) {
    CONCUR_ASSIGN_OR_RETURN(absl::string_view block, stream->Next());
    if (block.empty()) {
      return false;
    }
    if (first) {
      absl::ConsumePrefix(&block, "\xEF\xBB\xBF");
    }
    for (size_t i = 0; i < block.size(); ++i) {
      if (in_string) {
        const size_t bytes = StringBytes(block.substr(i), escaped);
        last.append(block.data() + i, std::min(bytes, key.size() + 1 - last.size()));
        i += bytes;
        in_string = i == block.size();
        continue;
      }
      const char c = block[i];
      if (depth == 0 && c != '{') {
        if (!IsJsonSpace(c)) {
          return false;
        }
      } else if (c == '"') {
        in_string = true;
        last.clear();
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if ((c == '}' || c == ']') && --depth == 0) {
        return false;
      } else if (c == ':' && depth == 1 && last == key) {
        return true;
      }
    }
  }
}

}  // namespace concur::qa
