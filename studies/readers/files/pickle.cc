// SPDX-License-Identifier: Apache-2.0
// The machine's operations: Python's Lib/pickletools.py describes them.
#include "studies/readers/files/pickle.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace concur::readers {
namespace {

using PickleKind = PickleValue::Kind;

constexpr size_t kValuesMax = 20'000'000;  // some 200 bytes each; large models have a million

// Classes whose objects are read as records of their fields.
constexpr absl::string_view kRecords[] = {"argparse.Namespace", "drqa.reader.data.Dictionary",
                                          "reader.data.Dictionary", "data.Dictionary"};
// Functions of torch that make a tensor of its arguments.
constexpr absl::string_view kRebuildTensor = "torch._utils._rebuild_tensor";
constexpr absl::string_view kRebuildTensor2 = "torch._utils._rebuild_tensor_v2";
constexpr absl::string_view kRebuildParameter = "torch._utils._rebuild_parameter";
constexpr absl::string_view kOrderedDict = "collections.OrderedDict";

constexpr std::pair<absl::string_view, Type> kStorages[] = {
    {"FloatStorage", Type::kFloat32}, {"DoubleStorage", Type::kFloat64},
    {"HalfStorage", Type::kFloat16},  {"BFloat16Storage", Type::kBfloat16},
    {"LongStorage", Type::kInt64},    {"IntStorage", Type::kInt32},
    {"ShortStorage", Type::kInt16},   {"CharStorage", Type::kInt8},
    {"ByteStorage", Type::kUint8},    {"BoolStorage", Type::kBool}};

std::optional<Type> StorageType(absl::string_view global) {
  if (!absl::ConsumePrefix(&global, "torch.")) {
    return std::nullopt;
  }
  absl::ConsumePrefix(&global, "cuda.");
  for (const auto& [name, type] : kStorages) {
    if (global == name) {
      return type;
    }
  }
  return std::nullopt;
}

bool IsRecord(absl::string_view global) {
  return std::find(std::begin(kRecords), std::end(kRecords), global) != std::end(kRecords);
}

bool IsHarmless(absl::string_view global) {
  return global == kRebuildTensor || global == kRebuildTensor2 || global == kRebuildParameter ||
         global == kOrderedDict || IsRecord(global) || StorageType(global).has_value();
}

// A pickle while it runs.
class PickleMachine {
 public:
  PickleMachine(absl::string_view bytes, std::deque<PickleValue>& values)
      : rest_(bytes), copies_left_(bytes.size()), values_(values) {}

  absl::StatusOr<const PickleValue*> Run();
  absl::string_view rest() const { return rest_; }

 private:
  absl::Status Step(unsigned char operation);
  absl::Status PushConstant(unsigned char operation, bool& done);
  absl::Status Container(unsigned char operation, bool& done);
  absl::Status Memo(unsigned char operation, bool& done);
  absl::Status Call();
  absl::Status Build();
  absl::Status PushGlobal(absl::string_view module, absl::string_view name);
  absl::Status PushStorage();
  absl::Status MakeTensor(const PickleValue& arguments);
  absl::Status AddPairs(size_t from);

  absl::Status Invalid(absl::string_view message) const {
    return absl::InvalidArgumentError(absl::StrCat("damaged pickle: ", message));
  }
  // Before a part of a value is copied: all copies together are no longer than the pickle, which a
  // pickle that was made by Python never needs.
  absl::Status Charge(size_t parts) {
    if (parts > copies_left_) {
      return Invalid("it copies more than it holds");
    }
    copies_left_ -= parts;
    return absl::OkStatus();
  }
  absl::StatusOr<absl::string_view> Take(uint64_t count) {
    if (count > rest_.size()) {
      return Invalid("it ends too early");
    }
    const absl::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  absl::StatusOr<absl::string_view> TakeLine() {
    const size_t end = rest_.find('\n');
    if (end == absl::string_view::npos) {
      return Invalid("it ends within a line");
    }
    CONCUR_ASSIGN_OR_RETURN(const absl::string_view line, Take(end + 1));
    return line.substr(0, end);
  }
  // Little-endian, of `width` bytes at most eight.
  absl::StatusOr<uint64_t> TakeNumber(int width) {
    CONCUR_ASSIGN_OR_RETURN(const absl::string_view bytes, Take(static_cast<uint64_t>(width)));
    uint64_t number = 0;
    for (int i = width - 1; i >= 0; --i) {
      number = number << 8 | static_cast<unsigned char>(bytes[static_cast<size_t>(i)]);
    }
    return number;
  }

  PickleValue& Push(PickleKind kind) {
    values_.emplace_back().kind = kind;
    stack_.push_back(&values_.back());
    return values_.back();
  }
  absl::StatusOr<PickleValue*> Pop() {
    if (stack_.empty() || (!marks_.empty() && marks_.back() == stack_.size())) {
      return Invalid("it takes a value where there is none");
    }
    PickleValue* value = stack_.back();
    stack_.pop_back();
    return value;
  }
  absl::StatusOr<size_t> PopMark() {
    if (marks_.empty()) {
      return Invalid("a mark is missing");
    }
    const size_t mark = marks_.back();
    marks_.pop_back();
    return mark <= stack_.size() ? absl::StatusOr<size_t>(mark) : Invalid("a mark is too high");
  }
  // Replaces the values from `from` on by a list of them.
  void PushListOf(size_t from) {
    const std::vector<const PickleValue*> items(stack_.begin() + static_cast<std::ptrdiff_t>(from),
                                                stack_.end());
    stack_.resize(from);
    Push(PickleKind::kList).items = items;
  }

  absl::string_view rest_;
  size_t copies_left_;
  std::deque<PickleValue>& values_;
  std::vector<PickleValue*> stack_;
  std::vector<size_t> marks_;
  absl::flat_hash_map<uint64_t, PickleValue*> memo_;
};

absl::StatusOr<const PickleValue*> PickleMachine::Run() {
  while (true) {
    CONCUR_ASSIGN_OR_RETURN(const absl::string_view operation, Take(1));
    if (operation[0] == '.') {
      return Pop();
    }
    if (values_.size() > kValuesMax) {
      return Invalid(absl::StrCat("it has more than ", kValuesMax, " values"));
    }
    CONCUR_RETURN_IF_ERROR(Step(static_cast<unsigned char>(operation[0])));
  }
}

absl::Status PickleMachine::Step(unsigned char operation) {
  switch (operation) {
    case 0x80:  // PROTO
      return Take(1).status();
    case 0x95:  // FRAME
      return Take(8).status();
    case '(':  // MARK
      marks_.push_back(stack_.size());
      return absl::OkStatus();
    case 'c': {  // GLOBAL
      CONCUR_ASSIGN_OR_RETURN(const absl::string_view module, TakeLine());
      CONCUR_ASSIGN_OR_RETURN(const absl::string_view name, TakeLine());
      return PushGlobal(module, name);
    }
    case 0x93: {  // STACK_GLOBAL
      CONCUR_ASSIGN_OR_RETURN(const PickleValue* name, Pop());
      CONCUR_ASSIGN_OR_RETURN(const PickleValue* module, Pop());
      return PushGlobal(module->text, name->text);
    }
    case 'R':   // REDUCE
    case 0x81:  // NEWOBJ
      return Call();
    case 'b':  // BUILD
      return Build();
    case 'Q':  // BINPERSID
      return PushStorage();
    default:
      break;
  }
  bool done = true;
  CONCUR_RETURN_IF_ERROR(PushConstant(operation, done));
  if (!done) {
    CONCUR_RETURN_IF_ERROR(Container(operation, done));
  }
  if (!done) {
    CONCUR_RETURN_IF_ERROR(Memo(operation, done));
  }
  return done ? absl::OkStatus()
              : absl::InvalidArgumentError(
                    absl::StrCat("the pickle's operation ", operation, " is not supported"));
}

absl::Status PickleMachine::PushConstant(unsigned char operation, bool& done) {
  done = true;
  int length_bytes = 0;
  switch (operation) {
    case 'N':  // NONE
      Push(PickleKind::kNone);
      return absl::OkStatus();
    case 0x88:  // NEWTRUE
    case 0x89:  // NEWFALSE
      Push(PickleKind::kBool).flag = operation == 0x88;
      return absl::OkStatus();
    case 'K':    // BININT1
    case 'M':    // BININT2
    case 'J': {  // BININT
      CONCUR_ASSIGN_OR_RETURN(const uint64_t number, TakeNumber(operation == 'K'   ? 1
                                                                : operation == 'M' ? 2
                                                                                   : 4));
      Push(PickleKind::kInteger).integer =
          operation == 'J' ? static_cast<int32_t>(number) : static_cast<int64_t>(number);
      return absl::OkStatus();
    }
    case 'I':    // INT, or a truth value as 00 or 01
    case 'L': {  // LONG
      CONCUR_ASSIGN_OR_RETURN(absl::string_view line, TakeLine());
      if (line == "00" || line == "01") {
        Push(PickleKind::kBool).flag = line == "01";
        return absl::OkStatus();
      }
      absl::ConsumeSuffix(&line, "L");
      return absl::SimpleAtoi(line, &Push(PickleKind::kInteger).integer)
                 ? absl::OkStatus()
                 : Invalid("an integer is not one");
    }
    case 0x8a: {  // LONG1
      CONCUR_ASSIGN_OR_RETURN(const uint64_t count, TakeNumber(1));
      CONCUR_ASSIGN_OR_RETURN(const absl::string_view bytes, Take(count));
      PickleValue& value = Push(PickleKind::kInteger);
      value.text = std::string(bytes);  // identifies an integer that does not fit
      uint64_t number = !bytes.empty() && (bytes.back() & 0x80) != 0 ? ~uint64_t{0} : 0;
      for (size_t i = std::min<size_t>(bytes.size(), 8); i > 0; --i) {
        number = number << 8 | static_cast<unsigned char>(bytes[i - 1]);
      }
      value.integer = static_cast<int64_t>(number);
      return absl::OkStatus();
    }
    case 'G': {  // BINFLOAT, big-endian
      CONCUR_ASSIGN_OR_RETURN(const uint64_t number, TakeNumber(8));
      Push(PickleKind::kReal).real = std::bit_cast<double>(__builtin_bswap64(number));
      return absl::OkStatus();
    }
    case 'F': {  // FLOAT
      CONCUR_ASSIGN_OR_RETURN(const absl::string_view line, TakeLine());
      return absl::SimpleAtod(line, &Push(PickleKind::kReal).real) ? absl::OkStatus()
                                                                   : Invalid("a number is not one");
    }
    case 'U':   // SHORT_BINSTRING
    case 'C':   // SHORT_BINBYTES
    case 0x8c:  // SHORT_BINUNICODE
      length_bytes = 1;
      break;
    case 'T':  // BINSTRING
    case 'B':  // BINBYTES
    case 'X':  // BINUNICODE
      length_bytes = 4;
      break;
    case 0x8d:  // BINUNICODE8
    case 0x8e:  // BINBYTES8
      length_bytes = 8;
      break;
    default:
      done = false;
      return absl::OkStatus();
  }
  CONCUR_ASSIGN_OR_RETURN(const uint64_t length, TakeNumber(length_bytes));
  CONCUR_ASSIGN_OR_RETURN(const absl::string_view text, Take(length));
  Push(PickleKind::kText).text = std::string(text);
  return absl::OkStatus();
}

absl::Status PickleMachine::Container(unsigned char operation, bool& done) {
  done = true;
  switch (operation) {
    case ']':   // EMPTY_LIST
    case ')':   // EMPTY_TUPLE
    case 0x8f:  // EMPTY_SET
      Push(PickleKind::kList);
      return absl::OkStatus();
    case '}':  // EMPTY_DICT
      Push(PickleKind::kDict);
      return absl::OkStatus();
    case 'l':    // LIST
    case 't':    // TUPLE
    case 'd': {  // DICT
      CONCUR_ASSIGN_OR_RETURN(const size_t mark, PopMark());
      if (operation != 'd') {
        PushListOf(mark);
        return absl::OkStatus();
      }
      values_.emplace_back().kind = PickleKind::kDict;
      stack_.insert(stack_.begin() + static_cast<std::ptrdiff_t>(mark), &values_.back());
      return AddPairs(mark + 1);
    }
    case 0x85:    // TUPLE1
    case 0x86:    // TUPLE2
    case 0x87: {  // TUPLE3
      const size_t count = operation - 0x84u;
      const size_t floor = marks_.empty() ? 0 : marks_.back();
      if (stack_.size() < floor + count) {
        return Invalid("a tuple lacks values");
      }
      PushListOf(stack_.size() - count);
      return absl::OkStatus();
    }
    case 'a':     // APPEND
    case 'e':     // APPENDS
    case 0x90: {  // ADDITEMS
      size_t from = stack_.size() - std::min<size_t>(stack_.size(), 1);
      if (operation != 'a') {
        CONCUR_ASSIGN_OR_RETURN(from, PopMark());
      }
      if (from == 0 || from > stack_.size() || stack_[from - 1]->kind != PickleKind::kList) {
        return Invalid("a list is missing");
      }
      auto& items = stack_[from - 1]->items;
      items.insert(items.end(), stack_.begin() + static_cast<std::ptrdiff_t>(from), stack_.end());
      stack_.resize(from);
      return absl::OkStatus();
    }
    case 's':    // SETITEM
    case 'u': {  // SETITEMS
      size_t from = stack_.size() - std::min<size_t>(stack_.size(), 2);
      if (operation == 'u') {
        CONCUR_ASSIGN_OR_RETURN(from, PopMark());
      }
      return AddPairs(from);
    }
    default:
      done = false;
      return absl::OkStatus();
  }
}

// Moves the values from `from` on, keys and values in turn, to the dictionary before them.
absl::Status PickleMachine::AddPairs(size_t from) {
  if (from == 0 || from > stack_.size() || (stack_.size() - from) % 2 != 0 ||
      (stack_[from - 1]->kind != PickleKind::kDict &&
       stack_[from - 1]->kind != PickleKind::kRecord)) {
    return Invalid("a dictionary is missing");
  }
  for (size_t i = from; i + 1 < stack_.size(); i += 2) {
    stack_[from - 1]->pairs.emplace_back(stack_[i], stack_[i + 1]);
  }
  stack_.resize(from);
  return absl::OkStatus();
}

absl::Status PickleMachine::Memo(unsigned char operation, bool& done) {
  done = true;
  uint64_t key = memo_.size();
  switch (operation) {
    case '0':  // POP
      return Pop().status();
    case 0x94:  // MEMOIZE
      break;
    case 'q':    // BINPUT
    case 'h':    // BINGET
    case 'r':    // LONG_BINPUT
    case 'j': {  // LONG_BINGET
      CONCUR_ASSIGN_OR_RETURN(key, TakeNumber(operation == 'q' || operation == 'h' ? 1 : 4));
      break;
    }
    case 'p':    // PUT
    case 'g': {  // GET
      CONCUR_ASSIGN_OR_RETURN(const absl::string_view line, TakeLine());
      if (!absl::SimpleAtoi(line, &key)) {
        return Invalid("a memo's number is not one");
      }
      break;
    }
    default:
      done = false;
      return absl::OkStatus();
  }
  if (operation == 'h' || operation == 'j' || operation == 'g') {
    const auto found = memo_.find(key);
    if (found == memo_.end()) {
      return Invalid("it refers to a value that is not there");
    }
    stack_.push_back(found->second);
    return absl::OkStatus();
  }
  if (stack_.empty()) {
    return Invalid("it remembers a value where there is none");
  }
  memo_[key] = stack_.back();
  return absl::OkStatus();
}

absl::Status PickleMachine::PushGlobal(absl::string_view module, absl::string_view name) {
  const std::string global = absl::StrCat(module, ".", name);
  if (!IsHarmless(global)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the pickle names ", global.substr(0, 200),
        ", which is not data: only tensors, dictionaries, lists, strings and numbers are read"));
  }
  Push(PickleKind::kGlobal).text = global;
  return absl::OkStatus();
}

// A storage: ("storage", its class, its key, the device, its number of values, …).
absl::Status PickleMachine::PushStorage() {
  CONCUR_ASSIGN_OR_RETURN(const PickleValue* id, Pop());
  if (id->kind != PickleKind::kList || id->items.size() < 5 || id->items[0]->text != "storage" ||
      id->items[1]->kind != PickleKind::kGlobal || id->items[2]->kind != PickleKind::kText ||
      id->items[4]->kind != PickleKind::kInteger || id->items[4]->integer < 0) {
    return Invalid("expected the identity of a storage");
  }
  if (id->items.size() > 5 && id->items[5]->kind != PickleKind::kNone) {
    return Invalid("views of storages are not supported");
  }
  const std::optional<Type> type = StorageType(id->items[1]->text);
  if (!type.has_value()) {
    return Invalid(absl::StrCat(id->items[1]->text, " is not a storage"));
  }
  CONCUR_RETURN_IF_ERROR(Charge(id->items[2]->text.size()));
  PickleValue& storage = Push(PickleKind::kStorage);
  storage.text = id->items[2]->text;
  storage.integer = id->items[4]->integer;
  storage.type = *type;
  return absl::OkStatus();
}

absl::Status PickleMachine::Call() {
  CONCUR_ASSIGN_OR_RETURN(const PickleValue* arguments, Pop());
  CONCUR_ASSIGN_OR_RETURN(const PickleValue* function, Pop());
  if (function->kind != PickleKind::kGlobal || arguments->kind != PickleKind::kList) {
    return Invalid("it calls what is no function");
  }
  const std::string& name = function->text;
  if (name == kRebuildTensor || name == kRebuildTensor2) {
    return MakeTensor(*arguments);
  }
  if (name == kRebuildParameter && !arguments->items.empty() &&
      arguments->items[0]->kind == PickleKind::kTensor) {
    Push(PickleKind::kTensor) = *arguments->items[0];
    return absl::OkStatus();
  }
  if (IsRecord(name) && arguments->items.empty()) {
    Push(PickleKind::kRecord).text = name;
    return absl::OkStatus();
  }
  if (name == kOrderedDict && arguments->items.size() <= 1) {
    PickleValue& dict = Push(PickleKind::kDict);
    if (arguments->items.empty()) {
      return absl::OkStatus();
    }
    CONCUR_RETURN_IF_ERROR(Charge(arguments->items[0]->items.size()));
    for (const PickleValue* pair : arguments->items[0]->items) {  // list of pairs, from Python 2
      if (pair->items.size() != 2) {
        return Invalid("a dictionary's pair has no two values");
      }
      dict.pairs.emplace_back(pair->items[0], pair->items[1]);
    }
    return absl::OkStatus();
  }
  return Invalid(absl::StrCat("unexpected arguments of ", name));
}

// (storage, offset, shape, strides, …)
absl::Status PickleMachine::MakeTensor(const PickleValue& arguments) {
  const auto& items = arguments.items;
  constexpr size_t kDimensionsMax = 16;
  if (items.size() < 4 || items[0]->kind != PickleKind::kStorage ||
      items[1]->kind != PickleKind::kInteger || items[2]->items.size() != items[3]->items.size() ||
      items[2]->items.size() > kDimensionsMax) {
    return Invalid("unexpected arguments of a tensor");
  }
  PickleValue& tensor = Push(PickleKind::kTensor);
  tensor.items = {items[0]};
  tensor.type = items[0]->type;
  tensor.integer = items[1]->integer;
  for (size_t i = 0; i < items[2]->items.size(); ++i) {
    tensor.shape.push_back(items[2]->items[i]->integer);
    tensor.strides.push_back(items[3]->items[i]->integer);
  }
  return absl::OkStatus();
}

// The fields of a record; those of an OrderedDict, such as a state's metadata, are left out.
absl::Status PickleMachine::Build() {
  CONCUR_ASSIGN_OR_RETURN(const PickleValue* fields, Pop());
  if (stack_.empty() || fields->kind != PickleKind::kDict) {
    return Invalid("the fields of an object are no dictionary");
  }
  if (stack_.back()->kind == PickleKind::kRecord) {
    CONCUR_RETURN_IF_ERROR(Charge(fields->pairs.size()));
    stack_.back()->pairs = fields->pairs;
  }
  return absl::OkStatus();
}

}  // namespace

const PickleValue* PickleValue::Find(absl::string_view key) const {
  for (const auto& [name, value] : pairs) {
    if (name->kind == PickleKind::kText && name->text == key) {
      return value;
    }
  }
  return nullptr;
}

absl::StatusOr<const PickleValue*> PickleReader::Read(absl::string_view& bytes) {
  PickleMachine machine(bytes, values_);
  CONCUR_ASSIGN_OR_RETURN(const PickleValue* value, machine.Run());
  bytes = machine.rest();
  return value;
}

}  // namespace concur::readers
