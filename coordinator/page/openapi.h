// SPDX-License-Identifier: Apache-2.0
// The OpenAPI document of the page's API, made from the methods and their messages:
// docs/openapi.json is what it returns.
//
// Pure function.
#ifndef CONCUR_COORDINATOR_PAGE_OPENAPI_H_
#define CONCUR_COORDINATOR_PAGE_OPENAPI_H_

#include <string>
#include <vector>

#include "coordinator/page/api.h"

namespace concur::page {

// OpenAPI 3.0. Same methods, same bytes.
std::string OpenApiJson(const std::vector<ApiMethod>& methods);

}  // namespace concur::page

#endif  // CONCUR_COORDINATOR_PAGE_OPENAPI_H_
