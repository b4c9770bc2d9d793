// SPDX-License-Identifier: Apache-2.0
#include "proto/rpc/convert_environment.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "proto/rpc/convert_value.h"

namespace concur::rpc {
namespace {

// The numbers are the enumeration's, after the unspecified one.
v1::Environment::Kind KindToProto(EnvironmentKind kind) {
  return static_cast<v1::Environment::Kind>(static_cast<int>(kind) + 1);
}

absl::StatusOr<EnvironmentKind> KindFromProto(v1::Environment::Kind kind, const FieldPath& path) {
  if (kind < v1::Environment::KIND_ROOT || kind > v1::Environment::KIND_CONDA) {
    return FieldError(path, absl::StrCat("expected a known kind of environment, got number ",
                                         static_cast<int>(kind)));
  }
  return static_cast<EnvironmentKind>(static_cast<int>(kind) - 1);
}

}  // namespace

v1::Environment ToProto(const Environment& environment) {
  v1::Environment proto;
  proto.set_kind(KindToProto(environment.kind));
  if (environment.HasFile()) {
    proto.set_digest(environment.digest.ToBytes());
  }
  proto.set_size_bytes(environment.bytes);
  proto.set_path(CleanUtf8(environment.path));  // only for people
  proto.set_reference(environment.reference);
  proto.set_python(environment.python);
  for (const std::string& line : environment.setup) {
    proto.add_setup(line);
  }
  return proto;
}

absl::StatusOr<Environment> FromProto(const v1::Environment& proto, const FieldPath& path) {
  Environment environment;
  CONCUR_ASSIGN_OR_RETURN(environment.kind, KindFromProto(proto.kind(), path.Field("kind")));
  environment.reference = proto.reference();
  if (environment.HasFile()) {
    CONCUR_ASSIGN_OR_RETURN(environment.digest,
                            DigestFromBytes(proto.digest(), path.Field("digest")));
  } else if (!proto.digest().empty()) {
    return FieldError(path.Field("digest"), "expected none beside a reference");
  }
  environment.bytes = proto.size_bytes();
  environment.path = proto.path();
  environment.python = proto.python();
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("setup"), proto.setup_size(), kSetupLinesMax));
  environment.setup.assign(proto.setup().begin(), proto.setup().end());
  return environment;
}

}  // namespace concur::rpc
