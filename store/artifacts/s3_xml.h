// SPDX-License-Identifier: Apache-2.0
// Requests and responses of the S3 API in XML.
//
// Functions without state. DataLoss when the text is not what it should be.
#ifndef CONCUR_STORE_ARTIFACTS_S3_XML_H_
#define CONCUR_STORE_ARTIFACTS_S3_XML_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace concur::s3 {

// An error's own words; all "" when the text is no error.
struct ErrorText {
  std::string code;     // "NoSuchKey"
  std::string message;  // for people
  std::string region;   // that the bucket is in, of some errors
};
ErrorText ParseError(absl::string_view xml);

struct Object {
  std::string key = {};
  int64_t bytes = 0;
  absl::Time modified = {};
};
struct ObjectPage {
  std::vector<Object> objects;  // in order of their keys
  bool is_last = true;
};
absl::StatusOr<ObjectPage> ParseObjects(absl::string_view xml);

// A multipart upload that was begun and not ended.
struct Upload {
  std::string key = {};
  std::string id = {};
  absl::Time begun = {};
};
struct UploadPage {
  std::vector<Upload> uploads;
  std::string next_key;  // "" for the last page
  std::string next_id;
};
absl::StatusOr<UploadPage> ParseUploads(absl::string_view xml);
// The id of an upload that was just begun.
absl::StatusOr<std::string> ParseUploadId(absl::string_view xml);

// The body that completes an upload of parts with these tags, in order.
std::string PartsXml(const std::vector<std::string>& tags);

}  // namespace concur::s3

#endif  // CONCUR_STORE_ARTIFACTS_S3_XML_H_
