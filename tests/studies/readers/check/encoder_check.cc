// SPDX-License-Identifier: Apache-2.0
#include "tests/studies/readers/check/encoder_check.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "studies/readers/files/safetensors.h"
#include "studies/readers/pretrained/encoder.h"
#include "studies/readers/tensors.h"
#include "tests/studies/readers/check/differences.h"
#include "tests/studies/readers/check/originals/data_check.h"

namespace concur::readers {
namespace {

// A fixture's io.safetensors, and what was compared with it.
class EncoderComparison {
 public:
  EncoderComparison(const SafeTensors& io, CheckResult& result) : io_(io), result_(result) {}

  std::optional<torch::Tensor> Find(absl::string_view name) const {
    const auto found = io_.tensors().find(name);
    return found == io_.tensors().end() ? std::nullopt : std::optional(ToTensor(found->second));
  }

  void CompareScore(const std::string& name, const torch::Tensor& computed) {
    const std::optional<torch::Tensor> expected = Find(name);
    if (!expected.has_value()) {
      return;
    }
    const double difference = LargestDifference(computed, *expected);
    if (difference >= result_.forward) {
      result_.forward = difference;
      result_.forward_at = name;
    }
  }

  // States or attentions: as many as the original has, in the same order.
  void CompareTrace(const std::string& prefix, const std::vector<torch::Tensor>& computed) {
    size_t expected = 0;
    for (const auto& [name, stored] : io_.tensors()) {
      expected += absl::StartsWith(name, prefix) ? 1 : 0;
    }
    for (size_t i = 0; i < computed.size(); ++i) {
      CompareScore(absl::StrCat(prefix, i), computed[i]);
    }
    if (expected > 0 && expected != computed.size()) {
      result_.forward = kInfinite;
      result_.forward_at = absl::StrCat(prefix, "*: ", expected, " and not ", computed.size());
    }
  }

  void CompareLoss(const std::string& name, const torch::Tensor& computed) {
    if (const std::optional<torch::Tensor> expected = Find(name)) {
      result_.loss = std::max(result_.loss, LargestDifference(computed, *expected));
    }
  }

 private:
  const SafeTensors& io_;
  CheckResult& result_;
};

}  // namespace

absl::StatusOr<CheckResult> CompareEncoder(const std::string& directory, torch::Device device) {
  CONCUR_ASSIGN_OR_RETURN(const std::shared_ptr<Encoder> encoder, LoadEncoder(directory));
  const std::string io_path = absl::StrCat(directory, "/io.safetensors");
  CONCUR_ASSIGN_OR_RETURN(const SafeTensors io, ReadSafeTensors(io_path));
  CONCUR_ASSIGN_OR_RETURN(const SafeTensors gradients,
                          ReadSafeTensors(absl::StrCat(directory, "/grads.safetensors")));
  encoder->to(device);
  CheckResult result;
  result.name = FixtureName(directory);
  result.approach = encoder->config().family->name;
  result.spans_compared = false;
  EncoderComparison comparison(io, result);

  for (const char* needed : {"input_ids", "attention_mask", "start_positions", "end_positions",
                             "start_logits", "end_logits", "loss"}) {
    if (!comparison.Find(needed).has_value()) {
      return absl::InvalidArgumentError(absl::StrCat(io_path, ": ", needed, " is missing"));
    }
  }
  TokenBatch batch;
  batch.ids = comparison.Find("input_ids")->to(device);
  const Scores unmasked = encoder->Forward(batch);
  comparison.CompareScore("nomask.start_logits", unmasked.starts);
  comparison.CompareScore("nomask.end_logits", unmasked.ends);

  batch.mask = comparison.Find("attention_mask")->ne(0).to(device);
  if (const auto segments = comparison.Find("token_type_ids")) {
    batch.segments = segments->to(device);
  }
  EncoderTrace trace;
  const Scores scores = encoder->Forward(batch, &trace);
  comparison.CompareScore("start_logits", scores.starts);
  comparison.CompareScore("end_logits", scores.ends);
  comparison.CompareTrace("hidden_states.", trace.states);
  comparison.CompareTrace("attentions.", trace.attentions);

  const torch::Tensor starts = comparison.Find("start_positions")->to(device);
  if (const auto outside = comparison.Find("end_positions_outside")) {
    comparison.CompareLoss("loss_outside", Encoder::Loss(scores, starts, outside->to(device)));
  }
  const torch::Tensor loss =
      Encoder::Loss(scores, starts, comparison.Find("end_positions")->to(device));
  comparison.CompareLoss("loss", loss);
  loss.backward();
  CompareGradients(*encoder, gradients, result);
  return result;
}

}  // namespace concur::readers
