// SPDX-License-Identifier: Apache-2.0
// OCI archives: a tar with index.json and blobs/sha256/…, of which a manifest names a configuration
// and layers (Open Container Initiative, image-spec 1.1).
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/archive/root_tar.h"
#include "base/archive/root_writer.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace concur {
namespace {

using nlohmann::json;

constexpr size_t kBlobsMax = 1'000;
constexpr int64_t kDocumentBytesMax = int64_t{4} << 20;
constexpr int kFirstEntries = 2'000;
constexpr char kIndex[] = "index.json";
constexpr char kBlobs[] = "blobs/sha256/";

absl::Status BadImage(const std::string& archive, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(
      archive, ": ", what, "; make it anew: podman save --format oci-archive -o FILE IMAGE"));
}

// The entry's file in the scratch directory: index.json, or the blob's digits. "": not needed.
std::string ScratchName(absl::string_view name) {
  while (absl::ConsumePrefix(&name, "./")) {
  }
  if (name == kIndex) {
    return kIndex;
  }
  return absl::ConsumePrefix(&name, kBlobs) && Digest::FromHex(name).ok() ? std::string(name) : "";
}

// An OCI archive whose blobs lie in a scratch directory.
class OciImage {
 public:
  OciImage(std::string archive, std::string scratch, const RootLimits& limits)
      : archive_(std::move(archive)), scratch_(std::move(scratch)), limits_(limits) {}

  absl::Status Unpack() {
    CONCUR_ASSIGN_OR_RETURN(const TarReader reader, OpenTar(archive_));
    CONCUR_ASSIGN_OR_RETURN(allowed_, AllowedBytes(archive_, 0, limits_));
    archive_entry* entry = nullptr;
    size_t blobs = 0;
    for (;;) {
      const int code = archive_read_next_header(reader.get(), &entry);
      if (code == ARCHIVE_EOF) {
        return absl::OkStatus();
      }
      if (code != ARCHIVE_OK && code != ARCHIVE_WARN) {
        return BadImage(archive_, archive_error_string(reader.get()));
      }
      const char* raw = archive_entry_pathname(entry);
      const std::string name = ScratchName(raw == nullptr ? "" : raw);
      if (name.empty() || archive_entry_filetype(entry) != AE_IFREG) {
        continue;
      }
      if (++blobs > kBlobsMax) {
        return BadImage(archive_, absl::StrCat("more than ", kBlobsMax, " blobs"));
      }
      CONCUR_RETURN_IF_ERROR(UnpackBlob(name, reader.get()));
    }
  }

  absl::StatusOr<std::vector<std::string>> ExtractTo(const std::string& directory) {
    CONCUR_ASSIGN_OR_RETURN(json manifest, Document(kIndex));
    // An index may name another one, with a manifest for each kind of machine.
    for (int depth = 0; depth < 3 && manifest.contains("manifests"); ++depth) {
      CONCUR_ASSIGN_OR_RETURN(const std::string name, Choose(manifest["manifests"]));
      CONCUR_ASSIGN_OR_RETURN(manifest, Document(name));
    }
    if (!manifest.contains("layers") || !manifest["layers"].is_array() ||
        !manifest.contains("config")) {
      return BadImage(archive_, "its index leads to no manifest with layers");
    }
    // Each layer has its own limit; all together have the archive's.
    RootLimits limits = limits_;
    limits.bytes_max = allowed_;
    RootWriter writer(directory, limits);
    CONCUR_RETURN_IF_ERROR(writer.Make());
    for (const json& layer : manifest["layers"]) {
      CONCUR_ASSIGN_OR_RETURN(const std::string name, BlobOf(layer));
      CONCUR_RETURN_IF_ERROR(writer.AddLayer(absl::StrCat(scratch_, "/", name)));
    }
    CONCUR_RETURN_IF_ERROR(writer.Finish());
    CONCUR_ASSIGN_OR_RETURN(const std::string name, BlobOf(manifest["config"]));
    CONCUR_ASSIGN_OR_RETURN(const json config, Document(name));
    std::vector<std::string> env;
    const json* variables = nullptr;
    if (config.contains("config") && config["config"].is_object() &&
        config["config"].contains("Env") && config["config"]["Env"].is_array()) {
      variables = &config["config"]["Env"];
    }
    for (const json& variable : variables == nullptr ? json::array() : *variables) {
      if (variable.is_string()) {
        env.push_back(variable.get<std::string>());
      }
    }
    return env;
  }

 private:
  absl::Status UnpackBlob(const std::string& name, archive* reader) {
    const std::string path = absl::StrCat(scratch_, "/", name);
    const FileDescriptor file(
        open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.valid()) {
      return ErrnoStatus(errno, path, "create");
    }
    Sha256 hasher;
    std::string buffer(size_t{256} * 1024, '\0');
    for (;;) {
      const la_ssize_t got = archive_read_data(reader, buffer.data(), buffer.size());
      if (got < 0) {
        return BadImage(archive_, archive_error_string(reader));
      }
      if (got == 0) {
        break;
      }
      bytes_ += got;  // holes of sparse files, too, which are written as zeros
      if (bytes_ > allowed_) {
        return BadImage(archive_, absl::StrCat("unpacks to more than ", allowed_, " bytes"));
      }
      if (limits_.is_canceled && limits_.is_canceled()) {
        return absl::CancelledError("stopped");
      }
      const absl::string_view data(buffer.data(), static_cast<size_t>(got));
      hasher.Update(data);
      CONCUR_RETURN_IF_ERROR(WriteAll(file.get(), data, path));
    }
    return name == kIndex || hasher.Finish().ToHex() == name
               ? absl::OkStatus()
               : BadImage(archive_, absl::StrCat("blob ", name, " is damaged"));
  }

  absl::StatusOr<json> Document(const std::string& name) const {
    const absl::StatusOr<std::string> text =
        ReadFile(absl::StrCat(scratch_, "/", name), kDocumentBytesMax);
    if (!text.ok()) {
      return BadImage(archive_, absl::StrCat("it has no ", name));
    }
    json document = json::parse(*text, nullptr, /*allow_exceptions=*/false);
    return document.is_object() ? absl::StatusOr<json>(std::move(document))
                                : BadImage(archive_, absl::StrCat(name, " is no JSON object"));
  }

  // The digits of the blob that a descriptor names.
  absl::StatusOr<std::string> BlobOf(const json& descriptor) const {
    const json* digest =
        descriptor.is_object() && descriptor.contains("digest") ? &descriptor["digest"] : nullptr;
    const std::string text =
        digest != nullptr && digest->is_string() ? digest->get<std::string>() : "";
    absl::string_view digits = text;
    if (!absl::ConsumePrefix(&digits, "sha256:") || !Digest::FromHex(digits).ok()) {
      return BadImage(archive_, "a descriptor has no digest sha256:…");
    }
    std::error_code error;
    if (!std::filesystem::exists(absl::StrCat(scratch_, "/", digits), error)) {
      return BadImage(archive_, absl::StrCat("it lacks the blob ", digits));
    }
    return std::string(digits);
  }

  // Chooses the manifest for this machine; the only one, whatever it says.
  absl::StatusOr<std::string> Choose(const json& manifests) const {
    utsname machine{};
    uname(&machine);
    const absl::string_view name = machine.machine;
    const absl::string_view architecture = name == "x86_64"    ? "amd64"
                                           : name == "aarch64" ? "arm64"
                                                               : name;
    for (const json& manifest : manifests.is_array() ? manifests : json::array()) {
      const json platform = manifest.is_object() ? manifest.value("platform", json()) : json();
      if (manifests.size() == 1 ||
          (platform.is_object() && platform.value("os", json()) == "linux" &&
           platform.value("architecture", json()) == std::string(architecture))) {
        return BlobOf(manifest);
      }
    }
    return BadImage(archive_, absl::StrCat("it has no image for linux on ", architecture));
  }

  const std::string archive_;
  const std::string scratch_;
  const RootLimits limits_;
  int64_t bytes_ = 0;
  int64_t allowed_ = 0;  // limit on bytes_
};

}  // namespace

absl::Status CheckOciArchive(const std::string& path) {
  CONCUR_ASSIGN_OR_RETURN(const TarReader reader, OpenTar(path));
  archive_entry* entry = nullptr;
  for (int i = 0; i < kFirstEntries; ++i) {
    const int code = archive_read_next_header(reader.get(), &entry);
    if (code == ARCHIVE_EOF) {
      break;
    }
    if (code != ARCHIVE_OK && code != ARCHIVE_WARN) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ", which is no such file (", archive_error_string(reader.get()), ")"));
    }
    const char* name = archive_entry_pathname(entry);
    if (ScratchName(name == nullptr ? "" : name) == kIndex) {
      return absl::OkStatus();
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(path, ", which has no ", kIndex));
}

absl::StatusOr<std::vector<std::string>> ExtractOciArchive(const std::string& archive_path,
                                                           const std::string& scratch,
                                                           const std::string& directory,
                                                           const RootLimits& limits) {
  if (mkdir(scratch.c_str(), 0700) != 0) {
    return ErrnoStatus(errno, scratch, "make directory");
  }
  const absl::Cleanup remove = [&scratch] {
    std::error_code error;
    std::filesystem::remove_all(scratch, error);
  };
  OciImage image(archive_path, scratch, limits);
  CONCUR_RETURN_IF_ERROR(image.Unpack());
  return image.ExtractTo(directory);
}

}  // namespace concur
