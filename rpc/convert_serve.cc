// SPDX-License-Identifier: Apache-2.0
#include "rpc/convert_serve.h"

#include <string>
#include <utility>

#include "base/status_macros.h"
#include "base/utf8.h"
#include "core/sweep.h"
#include "rpc/convert_sync.h"
#include "rpc/convert_value.h"

namespace concur::rpc {

v1::ServeOrder ToProto(const ServeOrder& order) {
  v1::ServeOrder proto;
  *proto.mutable_train() = ToProto(order.train);
  proto.mutable_command()->Add(order.command.begin(), order.command.end());
  *proto.mutable_resources() = ToProto(order.resources);
  proto.set_system(order.system.ToBytes());
  proto.set_system_bytes(order.system_bytes);
  *proto.mutable_answer_timeout() = ToProto(order.answer_max);
  return proto;
}

v1::ServedQuestion ToProto(const ServedQuestion& question) {
  v1::ServedQuestion proto;
  proto.set_number(question.number);
  proto.set_passage(question.passage);
  proto.set_question(question.question);
  return proto;
}

v1::ServedAnswer ToProto(const ServedAnswer& answer) {
  v1::ServedAnswer proto;
  proto.set_number(answer.number);
  proto.set_answered(answer.answered);
  proto.set_text(CleanUtf8(answer.text, kServedAnswerBytesMax));
  return proto;
}

absl::StatusOr<ServeOrder> FromProto(const v1::ServeOrder& proto, const FieldPath& path) {
  ServeOrder order;
  CONCUR_ASSIGN_OR_RETURN(order.train, FromProto(proto.train(), path.Field("train")));
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("command"), proto.command_size(), kArgumentsMax));
  order.command.assign(proto.command().begin(), proto.command().end());
  order.resources = FromProto(proto.resources());
  CONCUR_ASSIGN_OR_RETURN(order.system, DigestFromBytes(proto.system(), path.Field("system")));
  order.system_bytes = proto.system_bytes();
  CONCUR_ASSIGN_OR_RETURN(order.answer_max,
                          FromProto(proto.answer_timeout(), path.Field("answer_timeout")));
  CONCUR_RETURN_IF_ERROR(ValidateServeOrder(order, path));
  return order;
}

absl::StatusOr<ServedQuestion> FromProto(const v1::ServedQuestion& proto, const FieldPath& path) {
  ServedQuestion question{proto.number(), proto.passage(), proto.question()};
  CONCUR_RETURN_IF_ERROR(ValidateServedQuestion(question, path));
  return question;
}

absl::StatusOr<ServedAnswer> FromProto(const v1::ServedAnswer& proto, const FieldPath& path) {
  ServedAnswer answer{proto.number(), proto.answered(), proto.text()};
  CONCUR_RETURN_IF_ERROR(ValidateServedAnswer(answer, path));
  return answer;
}

}  // namespace concur::rpc
