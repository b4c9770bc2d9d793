// SPDX-License-Identifier: Apache-2.0
#include "core/sweep/content_key.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "base/check.h"
#include "base/digest.h"
#include "core/sweep/command_template.h"
#include "core/sweep/needs.h"

namespace concur {
namespace {

using Field = std::pair<std::string, std::string>;

// Fields as Sha256::UpdateField adds them, hashed in one piece: keys are made of few and short
// ones, and there are millions.
class ShortFields {
 public:
  void Add(absl::string_view field) {
    CONCUR_CHECK(used_ + 8 + field.size() <= bytes_.size());
    for (int i = 0; i < 8; ++i) {
      bytes_[used_++] = static_cast<char>(static_cast<uint64_t>(field.size()) >> (8 * i));
    }
    std::memcpy(bytes_.data() + used_, field.data(), field.size());
    used_ += field.size();
  }
  void Add(const Digest& digest) {
    Add(absl::string_view(reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size()));
  }
  Digest Hash(Sha256& hasher) const {
    hasher.Update(absl::string_view(bytes_.data(), used_));
    return hasher.Finish();
  }

 private:
  std::array<char, 192> bytes_;
  size_t used_ = 0;
};

void AddList(Sha256& hasher, const std::vector<std::string>& list) {
  hasher.UpdateField(absl::StrCat(list.size()));
  for (const std::string& element : list) {
    hasher.UpdateField(element);
  }
}

// A command sees the suffix of a data file's name. The usual one adds nothing to keys.
constexpr char kUsualSuffix[] = ".jsonl";

void AddSuffix(Sha256& hasher, const DataFile& file) {
  if (file.suffix != kUsualSuffix) {
    hasher.UpdateField("suffix");
    hasher.UpdateField(file.suffix);
  }
}

// As FieldsOf says it: "DIGEST", or "DIGEST, as test.tsv".
std::string SeenFileText(const DataFile& file, absl::string_view name) {
  return absl::StrCat(file.digest.ToHex(),
                      file.suffix == kUsualSuffix ? "" : absl::StrCat(", as ", name, file.suffix));
}

// Nothing where there is none.
void AddDigest(Sha256& hasher, absl::string_view name, const std::optional<Digest>& digest) {
  if (digest) {
    hasher.UpdateField(name);
    hasher.UpdateField(digest->ToBytes());
  }
}

Digest KeyOfSetting(const Setting& setting) {
  Sha256 hasher;
  hasher.UpdateField(absl::StrCat(setting.size()));
  for (const auto& [name, value] : setting) {
    hasher.UpdateField(name);
    hasher.UpdateField(ParamText(value));
  }
  return hasher.Finish();
}

// `source_key` is that of the block's source, if it has one.
Digest KeyOfBlock(const Expansion& expansion, const Block& block, const Digest* source_key) {
  const SweepSpec& spec = expansion.spec();
  const ApproachSpec& approach = spec.approaches[block.approach];
  Sha256 hasher;
  if (spec.imported) {  // no block of jobs that run has such a key
    hasher.UpdateField("imported");
    hasher.UpdateField(spec.imported->ToBytes());
    hasher.UpdateField(approach.name);
    return hasher.Finish();
  }
  hasher.UpdateField("block");
  hasher.UpdateField(approach.version);
  AddList(hasher, approach.train_command);
  hasher.UpdateField(absl::StrCat(approach.env.size()));
  for (const auto& [name, value] : approach.env) {
    hasher.UpdateField(name);
    hasher.UpdateField(value);
  }
  if (approach.code) {  // no count of parts, which would follow, is called so
    hasher.UpdateField("code");
    hasher.UpdateField(approach.code->key.ToBytes());
  }
  AddDigest(hasher, "program", approach.train_program);
  if (approach.environment) {
    hasher.UpdateField("environment");
    hasher.UpdateField(KeyOfEnvironment(*approach.environment).ToBytes());
  }
  if (block.has_train) {
    const TrainSet& train_set = spec.train_sets[block.train_set];
    hasher.UpdateField(absl::StrCat(train_set.parts.size()));
    for (const TrainSet::Part& part : train_set.parts) {
      hasher.UpdateField(spec.benchmarks[part.benchmark].train->digest.ToBytes());
      hasher.UpdateField(absl::StrCat(part.examples_max));
      // A mixture's sample of a part is drawn from a stream that bears the benchmark's name.
      if (train_set.IsMixture()) {
        hasher.UpdateField(spec.benchmarks[part.benchmark].name);
      } else {
        AddSuffix(hasher, *spec.benchmarks[part.benchmark].train);
      }
    }
    // The seed orders and samples a mixture; a plain train set is used as it is.
    hasher.UpdateField(train_set.IsMixture() ? absl::StrCat(train_set.seed) : "");
    // Nothing where the command does not read it: such jobs have the keys that they had before
    // there were validation sets.
    const absl::Span<const uint32_t> validation = expansion.ValidationInputsOf(block);
    if (!validation.empty()) {
      hasher.UpdateField("validation");
    }
    for (const uint32_t benchmark : validation) {
      hasher.UpdateField(spec.benchmarks[benchmark].test->digest.ToBytes());
      if (validation.size() > 1) {
        hasher.UpdateField(spec.benchmarks[benchmark].name);
      } else {
        AddSuffix(hasher, *spec.benchmarks[benchmark].test);
      }
    }
  }
  if (block.source) {  // all of the source's train key but the seed, which is the job's own
    const Block& source = expansion.blocks()[*block.source];
    hasher.UpdateField("train_from");
    hasher.UpdateField(source_key->ToBytes());
    hasher.UpdateField(KeyOfSetting(expansion.Settings(source.approach)[0]).ToBytes());
  }
  return hasher.Finish();
}

// All that the answers of a service depend on, but the seed and the model that its command may
// read.
void AddServiceContent(Sha256& hasher, const ApproachSpec& approach) {
  hasher.UpdateField("service");
  hasher.UpdateField(approach.version);
  AddList(hasher, approach.service->command);
  AddDigest(hasher, "program", approach.service->program);
  hasher.UpdateField(absl::StrCat(approach.env.size()));
  for (const auto& [name, value] : approach.env) {
    hasher.UpdateField(name);
    hasher.UpdateField(value);
  }
  if (const auto& code = approach.CodeOf(/*is_train=*/false)) {
    AddDigest(hasher, "code", code->key);
  }
  if (approach.environment) {
    AddDigest(hasher, "environment", KeyOfEnvironment(*approach.environment));
  }
}

// And all else by which instances differ.
void AddInstance(Sha256& hasher, const ApproachSpec& approach) {
  AddServiceContent(hasher, approach);
  hasher.UpdateField(absl::StrCat(approach.secrets.size()));
  for (const auto& [name, value] : approach.secrets) {
    hasher.UpdateField(name);
    hasher.UpdateField(value);
  }
  const ServiceSpec& service = *approach.service;
  const Resources& resources = service.resources;
  for (const int64_t number :
       {resources.cpu_millis, resources.memory_bytes, int64_t{resources.gpus},
        int64_t{resources.gpu_share}, int64_t{service.serves},
        absl::ToInt64Milliseconds(service.idle), absl::ToInt64Milliseconds(service.ready_within)}) {
    hasher.UpdateField(absl::StrCat(number));
  }
  hasher.UpdateField(service.ready_http);
}

// A needed service has its default setting, which is its only one.
Digest KeyOfNeed(const ApproachSpec& needed) {
  Sha256 hasher;
  AddServiceContent(hasher, needed);
  hasher.UpdateField(KeyOfSetting(needed.hyperparameters.defaults).ToBytes());
  return hasher.Finish();
}

// Nothing without needs. Commands have their names.
void AddNeeds(Sha256& hasher, const SweepSpec& spec, const std::vector<uint32_t>& needs) {
  for (const uint32_t need : needs) {
    hasher.UpdateField("needs");
    AddDigest(hasher, spec.approaches[need].name, KeyOfNeed(spec.approaches[need]));
  }
}

Digest KeyOfTest(const SweepSpec& spec, const BenchmarkSpec& benchmark) {
  Sha256 hasher;
  if (spec.imported) {  // without data, tasks differ by their names
    hasher.UpdateField("imported");
    hasher.UpdateField(benchmark.name);
    return hasher.Finish();
  }
  hasher.UpdateField(DataFormatName(benchmark.format));
  hasher.UpdateField(benchmark.test ? benchmark.test->digest.ToBytes() : "");
  hasher.UpdateField(benchmark.metric);
  hasher.UpdateField(IsQa(benchmark.format) ? kScorerVersion : "");
  if (benchmark.test) {
    AddSuffix(hasher, *benchmark.test);
  }
  if (!benchmark.parameters.empty()) {
    hasher.UpdateField("parameters");
  }
  for (const auto& [name, value] : benchmark.parameters) {
    hasher.UpdateField(name);
    hasher.UpdateField(value);
  }
  AddNeeds(hasher, spec, benchmark.needs);
  return hasher.Finish();
}

}  // namespace

ContentKeys::ContentKeys(const Expansion& expansion) : expansion_(&expansion) {
  const SweepSpec& spec = expansion.spec();
  const std::vector<Block>& blocks = expansion.blocks();
  std::vector<uint32_t> order(blocks.size());  // sources before what starts from them
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return blocks[a].stage < blocks[b].stage; });
  block_keys_.resize(blocks.size());
  for (const uint32_t index : order) {
    const std::optional<uint32_t> source = blocks[index].source;
    block_keys_[index] =
        KeyOfBlock(expansion, blocks[index], source ? &block_keys_[*source] : nullptr);
  }
  for (uint32_t a = 0; a < spec.approaches.size(); ++a) {
    std::vector<Digest>& keys = setting_keys_.emplace_back();
    for (const Setting& setting : expansion.Settings(a)) {
      keys.push_back(KeyOfSetting(setting));
    }
    Sha256 hasher;
    AddList(hasher, spec.approaches[a].predict_command);
    if (spec.approaches[a].predict_code) {
      AddDigest(hasher, "code", spec.approaches[a].predict_code->key);
    }
    AddDigest(hasher, "program", spec.approaches[a].predict_program);
    if (const std::optional<ServiceSpec>& service = spec.approaches[a].service) {
      hasher.UpdateField("service");
      AddList(hasher, service->command);
      AddDigest(hasher, "service program", service->program);
    }
    AddNeeds(hasher, spec, spec.approaches[a].needs);
    predict_keys_.push_back(hasher.Finish());
  }
  searched_keys_.resize(spec.search ? blocks.size() : 0);
  for (uint32_t index = 0; index < searched_keys_.size(); ++index) {
    for (uint32_t i = 0; expansion.IsSearched(index) && i < blocks[index].settings; ++i) {
      searched_keys_[index].push_back(
          expansion.HasSetting(index, i)
              ? KeyOfSetting(expansion.SettingOf(index, i))
              : Sha256Of(absl::StrCat("not chosen yet: ", index, "/", i)));
    }
  }
  for (const BenchmarkSpec& benchmark : spec.benchmarks) {
    test_keys_.push_back(KeyOfTest(spec, benchmark));
  }
}

const Digest& ContentKeys::KeyOfSettingOf(const JobCoordinates& at) const {
  return searched_keys_.empty() || searched_keys_[at.block].empty()
             ? setting_keys_[expansion_->blocks()[at.block].approach][at.setting]
             : searched_keys_[at.block][at.setting];
}

Digest ContentKeys::TrainKeyOf(const JobCoordinates& at, Sha256& hasher) const {
  ShortFields fields;
  fields.Add("train");
  fields.Add(block_keys_[at.block]);
  fields.Add(KeyOfSettingOf(at));
  fields.Add(absl::AlphaNum(expansion_->spec().seeds[at.seed_index]).Piece());
  return fields.Hash(hasher);
}

Digest ContentKeys::ServiceKeyOf(uint32_t job) const {
  const JobCoordinates at = expansion_->Locate(job);
  const ApproachSpec& approach =
      expansion_->spec().approaches[expansion_->blocks()[at.block].approach];
  const ServiceSpec& service = *approach.service;
  Sha256 hasher;
  AddInstance(hasher, approach);
  hasher.UpdateField(KeyOfSettingOf(at).ToBytes());
  if (UsesPlaceholder(service.command, "seed")) {
    AddDigest(hasher, "seed", Sha256Of(absl::StrCat(expansion_->spec().seeds[at.seed_index])));
  }
  if (UsesPlaceholder(service.command, "model")) {
    Sha256 train_hasher;
    AddDigest(hasher, "model", TrainKeyOf(at, train_hasher));
  }
  return hasher.Finish();
}

Digest ContentKeys::NeededServiceKeyOf(uint32_t approach) const {
  Sha256 hasher;
  AddInstance(hasher, expansion_->spec().approaches[approach]);
  hasher.UpdateField(setting_keys_[approach][0].ToBytes());
  return hasher.Finish();
}

Digest ContentKeys::KeyOf(uint32_t job) const {
  const JobCoordinates at = expansion_->Locate(job);
  const Block& block = expansion_->blocks()[at.block];
  Sha256 hasher;
  const Digest train = TrainKeyOf(at, hasher);
  if (at.is_train) {
    return train;
  }
  ShortFields eval_fields;
  eval_fields.Add("eval");
  eval_fields.Add(train);
  eval_fields.Add(predict_keys_[block.approach]);
  eval_fields.Add(test_keys_[at.test_benchmark]);
  return eval_fields.Hash(hasher);
}

Digest ContentKeys::KindKeyOf(uint32_t job) const {
  const JobCoordinates at = expansion_->Locate(job);
  Sha256 hasher;
  ShortFields fields;
  fields.Add(at.is_train ? "train kind" : "eval kind");
  fields.Add(block_keys_[at.block]);
  if (!at.is_train) {
    fields.Add(predict_keys_[expansion_->blocks()[at.block].approach]);
    fields.Add(test_keys_[at.test_benchmark]);
  }
  return fields.Hash(hasher);
}

std::vector<Field> ContentKeys::FieldsOf(uint32_t job) const {
  const SweepSpec& spec = expansion_->spec();
  const JobCoordinates at = expansion_->Locate(job);
  const Block& block = expansion_->blocks()[at.block];
  const ApproachSpec& approach = spec.approaches[block.approach];
  std::vector<Field> fields;
  if (spec.imported) {
    return {{"imported results", spec.imported->ToHex()},
            {"approach", approach.name},
            {"seed", absl::StrCat(spec.seeds[at.seed_index])},
            {"benchmark", spec.benchmarks[at.test_benchmark].name}};
  }
  fields.emplace_back("approach version", approach.version);
  fields.emplace_back("train command", absl::StrJoin(approach.train_command, " "));
  for (const auto& [name, value] : approach.env) {
    fields.emplace_back(absl::StrCat("environment ", name), value);
  }
  if (approach.code) {
    fields.emplace_back("code", approach.code->key.ToHex());
  }
  if (approach.train_program) {
    fields.emplace_back("train program", approach.train_program->ToHex());
  }
  if (approach.environment) {
    fields.emplace_back("environment", EnvironmentText(*approach.environment));
  }
  if (block.has_train) {
    const TrainSet& train_set = spec.train_sets[block.train_set];
    for (size_t i = 0; i < train_set.parts.size(); ++i) {
      const TrainSet::Part& part = train_set.parts[i];
      const DataFile& file = *spec.benchmarks[part.benchmark].train;
      std::string text = train_set.IsMixture() ? file.digest.ToHex() : SeenFileText(file, "train");
      if (part.examples_max != 0) {
        absl::StrAppend(&text, ", at most ", part.examples_max, " examples");
      }
      if (train_set.IsMixture()) {
        absl::StrAppend(&text, ", as ", spec.benchmarks[part.benchmark].name);
      }
      fields.emplace_back(absl::StrCat("train data ", i + 1), std::move(text));
    }
    if (train_set.IsMixture()) {
      fields.emplace_back("mixture seed", absl::StrCat(train_set.seed));
    }
    const absl::Span<const uint32_t> validation = expansion_->ValidationInputsOf(block);
    for (size_t i = 0; i < validation.size(); ++i) {
      const BenchmarkSpec& set = spec.benchmarks[validation[i]];
      fields.emplace_back(absl::StrCat("validation data ", i + 1),
                          validation.size() > 1
                              ? absl::StrCat(set.test->digest.ToHex(), ", as ", set.name)
                              : SeenFileText(*set.test, "validation"));
    }
  }
  for (const auto& [name, value] : expansion_->SettingOf(at.block, at.setting)) {
    fields.emplace_back(absl::StrCat("setting ", name), ParamText(value));
  }
  fields.emplace_back("seed", absl::StrCat(spec.seeds[at.seed_index]));
  if (block.source) {
    const Block& source = expansion_->blocks()[*block.source];
    for (auto& [name, value] : FieldsOf(source.JobOf(at.seed_index, source.first_kind))) {
      fields.emplace_back(absl::StrCat("train_from ", name), std::move(value));
    }
  }
  if (!at.is_train) {
    const BenchmarkSpec& benchmark = spec.benchmarks[at.test_benchmark];
    fields.emplace_back("predict command", absl::StrJoin(approach.predict_command, " "));
    if (approach.predict_code) {
      fields.emplace_back("predict code", approach.predict_code->key.ToHex());
    }
    if (approach.predict_program) {
      fields.emplace_back("predict program", approach.predict_program->ToHex());
    }
    if (approach.service) {
      fields.emplace_back("service command", absl::StrJoin(approach.service->command, " "));
      if (approach.service->program) {
        fields.emplace_back("service program", approach.service->program->ToHex());
      }
    }
    for (const uint32_t need : NeedsOf(spec, block.approach, at.test_benchmark)) {
      fields.emplace_back(absl::StrCat("needs ", spec.approaches[need].name),
                          KeyOfNeed(spec.approaches[need]).ToHex());
    }
    fields.emplace_back("test data", SeenFileText(*benchmark.test, "test"));
    for (const auto& [name, value] : benchmark.parameters) {
      fields.emplace_back(absl::StrCat("parameter ", name), value);
    }
    fields.emplace_back("data format", std::string(DataFormatName(benchmark.format)));
    fields.emplace_back("metric", benchmark.metric);
    if (IsQa(benchmark.format)) {
      fields.emplace_back("scorer version", kScorerVersion);
    }
  }
  return fields;
}

}  // namespace concur
