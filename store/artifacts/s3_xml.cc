// SPDX-License-Identifier: Apache-2.0
#include "store/artifacts/s3_xml.h"

#include <pugixml.hpp>
#include <sstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace concur::s3 {
namespace {

absl::Status Malformed(absl::string_view expected, absl::string_view xml) {
  return absl::DataLossError(absl::StrCat("expected the object storage to answer with ", expected,
                                          ", got \"", xml.substr(0, 200), "\""));
}

absl::StatusOr<absl::Time> TimeOf(const pugi::xml_node& node, const char* name) {
  absl::Time time;
  std::string error;
  const char* text = node.child_value(name);
  if (!absl::ParseTime(absl::RFC3339_full, text, &time, &error)) {
    return Malformed(absl::StrCat("a time in ", name), text);
  }
  return time;
}

// The root element, if it has this name.
absl::StatusOr<pugi::xml_node> Root(pugi::xml_document& document, absl::string_view xml,
                                    const char* name) {
  if (!document.load_buffer(xml.data(), xml.size())) {
    return Malformed(name, xml);
  }
  const pugi::xml_node root = document.child(name);
  if (root.empty()) {
    return Malformed(name, xml);
  }
  return root;
}

}  // namespace

ErrorText ParseError(absl::string_view xml) {
  pugi::xml_document document;
  if (!document.load_buffer(xml.data(), xml.size())) {
    return {};
  }
  const pugi::xml_node error = document.child("Error");
  return {error.child_value("Code"), error.child_value("Message"), error.child_value("Region")};
}

absl::StatusOr<ObjectPage> ParseObjects(absl::string_view xml) {
  pugi::xml_document document;
  CONCUR_ASSIGN_OR_RETURN(const pugi::xml_node root, Root(document, xml, "ListBucketResult"));
  ObjectPage page;
  page.is_last = absl::string_view(root.child_value("IsTruncated")) != "true";
  for (const pugi::xml_node& entry : root.children("Contents")) {
    Object object{.key = entry.child_value("Key")};
    if (object.key.empty() || !absl::SimpleAtoi(entry.child_value("Size"), &object.bytes)) {
      return Malformed("a key and a size in Contents", xml);
    }
    CONCUR_ASSIGN_OR_RETURN(object.modified, TimeOf(entry, "LastModified"));
    page.objects.push_back(std::move(object));
  }
  if (!page.is_last && page.objects.empty()) {
    return Malformed("objects in a list that goes on", xml);
  }
  return page;
}

absl::StatusOr<UploadPage> ParseUploads(absl::string_view xml) {
  pugi::xml_document document;
  CONCUR_ASSIGN_OR_RETURN(const pugi::xml_node root,
                          Root(document, xml, "ListMultipartUploadsResult"));
  UploadPage page;
  if (absl::string_view(root.child_value("IsTruncated")) == "true") {
    page.next_key = root.child_value("NextKeyMarker");
    page.next_id = root.child_value("NextUploadIdMarker");
  }
  for (const pugi::xml_node& entry : root.children("Upload")) {
    Upload upload{.key = entry.child_value("Key"), .id = entry.child_value("UploadId")};
    CONCUR_ASSIGN_OR_RETURN(upload.begun, TimeOf(entry, "Initiated"));
    page.uploads.push_back(std::move(upload));
  }
  return page;
}

absl::StatusOr<std::string> ParseUploadId(absl::string_view xml) {
  pugi::xml_document document;
  CONCUR_ASSIGN_OR_RETURN(const pugi::xml_node root,
                          Root(document, xml, "InitiateMultipartUploadResult"));
  std::string id = root.child_value("UploadId");
  if (id.empty()) {
    return Malformed("an UploadId", xml);
  }
  return id;
}

std::string PartsXml(const std::vector<std::string>& tags) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("CompleteMultipartUpload");
  for (size_t i = 0; i < tags.size(); ++i) {
    pugi::xml_node part = root.append_child("Part");
    part.append_child("PartNumber").text().set(static_cast<unsigned>(i + 1));
    part.append_child("ETag").text().set(tags[i].c_str());
  }
  std::ostringstream text;
  document.save(text, "", pugi::format_raw);
  return text.str();
}

}  // namespace concur::s3
