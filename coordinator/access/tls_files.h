// SPDX-License-Identifier: Apache-2.0
// Creates a private CA and the certificates that it signs for the server and for clients. ECDSA on
// P-256, signed with SHA-256; the CA is valid for ten years, the others for 825 days.
//
// Thread-safe (stateless).
#ifndef CONCUR_COORDINATOR_ACCESS_TLS_FILES_H_
#define CONCUR_COORDINATOR_ACCESS_TLS_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace concur {

// Writes ca.pem, ca.key, server.pem, server.key, client.pem and client.key into `directory`; keys
// have mode 0600. An existing CA is kept: calling it again renews the other two certificates, and
// clients continue to trust the server. The server's names are `hosts`, host names or IP addresses,
// beside localhost, 127.0.0.1 and ::1. InvalidArgument when one is neither.
absl::Status InitTls(const std::string& directory, const std::vector<std::string>& hosts,
                     absl::Time now);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_ACCESS_TLS_FILES_H_
