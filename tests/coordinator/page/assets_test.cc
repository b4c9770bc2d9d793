// SPDX-License-Identifier: Apache-2.0
#include "coordinator/page/assets.h"

#include "tests/testing/test.h"

namespace concur::page {
namespace {

TEST(AssetsTest, WithoutAScriptThePageSaysWhy) {
  const http::HttpResponse response = MissingBundleResponse("npm <is> missing");
  EXPECT_EQ(response.status, 503u);
  EXPECT_THAT(response.body, HasSubstr("npm &lt;is> missing"));
}

}  // namespace
}  // namespace concur::page
