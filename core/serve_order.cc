// SPDX-License-Identifier: Apache-2.0
#include "core/serve_order.h"

#include "base/status_macros.h"
#include "core/command_template.h"
#include "core/sweep.h"

namespace concur {

absl::Status ValidateServedQuestion(const ServedQuestion& question, const FieldPath& path) {
  CONCUR_RETURN_IF_ERROR(
      CheckText(path.Field("passage"), question.passage, kServedPassageBytesMax));
  return CheckText(path.Field("question"), question.question, kServedQuestionBytesMax);
}

absl::Status ValidateServedAnswer(const ServedAnswer& answer, const FieldPath& path) {
  return CheckText(path.Field("text"), answer.text, kServedAnswerBytesMax);
}

absl::Status ValidateServeOrder(const ServeOrder& order, const FieldPath& path) {
  CONCUR_RETURN_IF_ERROR(ValidateJobOrder(order.train, path.Field("train")));
  if (!order.train.is_train) {
    return FieldError(path.Field("train"), "expected a train job");
  }
  if (order.command.empty()) {
    return FieldError(path.Field("command"), "expected a program, got an empty list");
  }
  CONCUR_RETURN_IF_ERROR(CheckCommand(path, "command", order.command));
  for (size_t i = 0; i < order.command.size(); ++i) {
    CONCUR_RETURN_IF_ERROR(AtField(
        path.Field("command", i),
        CheckArgument(order.command[i], CommandKind::kServe, order.train.code.has_value(), {})
            .status()));
  }
  CONCUR_RETURN_IF_ERROR(CheckResources(path.Field("resources"), order.resources));
  if (order.system.IsZero()) {
    return FieldError(path.Field("system"), "expected the digest of a trained system");
  }
  CONCUR_RETURN_IF_ERROR(
      CheckRange(path.Field("system_bytes"), order.system_bytes, 0, kArtifactBytesMax));
  return CheckSpan(path.Field("answer_max"), order.answer_max, absl::Seconds(1),
                   kServedAnswerTimeMax);
}

}  // namespace concur
