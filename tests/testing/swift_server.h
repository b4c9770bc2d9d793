// SPDX-License-Identifier: Apache-2.0
// Object storage on this machine that speaks S3: OpenStack Swift, which checks signatures and
// digests as Amazon's S3 does (tests/s3/swift_server.py).
#ifndef CONCUR_TESTS_TESTING_SWIFT_SERVER_H_
#define CONCUR_TESTS_TESTING_SWIFT_SERVER_H_

#include <signal.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/http/client.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/temp_dir.h"

namespace concur::testing {

class SwiftServer {
 public:
  static constexpr char kMissing[] =
      "python3-swift is not here; it is Debian's package of that name";
  static constexpr char kAccessKey[] = "concur:key";  // with a colon, as Swift has them
  static constexpr char kSecretKey[] = "secret/with+signs";
  static constexpr char kRegion[] = "us-east-1";

  static bool IsAvailable() {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
    return std::system("/usr/bin/python3 -c 'import swift.common.middleware.s3api' 2>/dev/null") ==
           0;
  }

  // REQUIRES: IsAvailable().
  SwiftServer() {
    setenv("no_proxy", "127.0.0.1", 1);  // NOLINT(concurrency-mt-unsafe)
    Start();
  }

  const std::string& endpoint() const { return endpoint_; }
  // Stops the server and deletes its data.
  void Kill() { process_.reset(); }

  void MakeBucket(const std::string& name) const { CONCUR_CHECK(CodeOf("PUT", name) == 200); }
  bool Has(const std::string& bucket_and_key) const { return CodeOf("GET", bucket_and_key) == 200; }

 private:
  int64_t CodeOf(const std::string& method, const std::string& path) const {
    SystemClock clock;
    http::Client client(clock, {});
    http::Request request;
    request.method = method;
    request.url = absl::StrCat(endpoint_, "/", path);
    request.headers = {absl::StrCat("x-amz-content-sha256: ", Sha256Of("").ToHex()),
                       "Content-Type: application/octet-stream"};
    request.signature = http::Signature{kRegion, "s3", kAccessKey, kSecretKey};
    const auto exchange = client.Send(request);
    CONCUR_CHECK_OK(exchange.status());
    return (*exchange)->code();
  }

  void Start() {
    const char* root = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
    process_ = std::make_unique<Process>(
        std::vector<std::string>{
            "/usr/bin/python3",
            absl::StrCat(root == nullptr ? "." : root, "/tests/s3/swift_server.py"), dir_.path(),
            kAccessKey, kSecretKey},
        dir_.File("log"));
    Eventually([&] {
      endpoint_ =
          std::string(absl::StripAsciiWhitespace(ReadFile(dir_.File("address")).value_or("")));
      return !endpoint_.empty();
    });
  }

  TempDir dir_;
  std::unique_ptr<Process> process_;
  std::string endpoint_;
};

}  // namespace concur::testing

#endif  // CONCUR_TESTS_TESTING_SWIFT_SERVER_H_
