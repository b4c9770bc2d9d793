// SPDX-License-Identifier: Apache-2.0
#include "coordinator/access/tls_files.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/file_lock.h"
#include "base/status_macros.h"

namespace concur {
namespace {

constexpr absl::Duration kAuthorityLife = absl::Hours(24 * 3650);
constexpr absl::Duration kLeafLife = absl::Hours(24 * 825);
constexpr absl::Duration kClockSkew = absl::Minutes(5);
constexpr int kSerialBits = 127;
constexpr int64_t kTlsPemBytesMax = 1 << 20;

template <auto kFree>
struct Freer {
  template <typename T>
  void operator()(T* thing) const {
    kFree(thing);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freer<X509_free>>;
using Bio = std::unique_ptr<BIO, Freer<BIO_free_all>>;
using Number = std::unique_ptr<BIGNUM, Freer<BN_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Freer<X509_EXTENSION_free>>;

struct Identity {
  Key key;
  Certificate certificate;
};

// OpenSSL's message about its last failure.
absl::Status OpenSslError(absl::string_view action) {
  char text[256] = "no reason given";
  if (const unsigned long code = ERR_get_error(); code != 0) {  // NOLINT(google-runtime-int)
    ERR_error_string_n(code, text, sizeof text);
  }
  ERR_clear_error();
  return absl::InternalError(absl::StrCat(action, ": ", text));
}

std::string Contents(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);  // NOLINT(google-runtime-int)
  return std::string(data, static_cast<size_t>(size));
}

bool AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool SetRandomSerial(X509* certificate) {
  const Number number(BN_new());
  return number != nullptr &&
         BN_rand(number.get(), kSerialBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

struct Request {
  std::string common_name;
  absl::Duration life;
  std::vector<std::pair<int, std::string>> extensions;
};

// A key and its certificate, signed by `authority`, or by itself when that is null.
absl::StatusOr<Identity> Make(const Request& request, const Identity* authority, absl::Time now) {
  Identity made{Key(EVP_EC_gen("P-256")), Certificate(X509_new())};
  X509* certificate = made.certificate.get();
  if (made.key == nullptr || certificate == nullptr) {
    return OpenSslError("make a key");
  }
  X509* issuer = authority == nullptr ? certificate : authority->certificate.get();
  X509_NAME* name = X509_get_subject_name(certificate);
  bool ok =
      X509_set_version(certificate, X509_VERSION_3) == 1 && SetRandomSerial(certificate) &&
      X509_NAME_add_entry_by_txt(
          name, "CN", MBSTRING_UTF8,
          reinterpret_cast<const unsigned char*>(request.common_name.c_str()), -1, -1, 0) == 1 &&
      X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1 &&
      ASN1_TIME_set(X509_getm_notBefore(certificate), absl::ToTimeT(now - kClockSkew)) &&
      ASN1_TIME_set(X509_getm_notAfter(certificate), absl::ToTimeT(now + request.life)) &&
      X509_set_pubkey(certificate, made.key.get()) == 1;
  for (const auto& [nid, value] : request.extensions) {
    ok = ok && AddExtension(certificate, issuer, nid, value);
  }
  EVP_PKEY* signer = authority == nullptr ? made.key.get() : authority->key.get();
  if (!ok || X509_sign(certificate, signer, EVP_sha256()) == 0) {
    return OpenSslError(absl::StrCat("make the certificate of ", request.common_name));
  }
  return made;
}

absl::Status Save(const Identity& identity, const std::string& directory, const std::string& name) {
  const Bio key(BIO_new(BIO_s_mem()));
  const Bio certificate(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_PKCS8PrivateKey(key.get(), identity.key.get(), nullptr, nullptr, 0, nullptr,
                                    nullptr) != 1 ||
      PEM_write_bio_X509(certificate.get(), identity.certificate.get()) != 1) {
    return OpenSslError("write PEM");
  }
  CONCUR_RETURN_IF_ERROR(
      WriteFileAtomically(absl::StrCat(directory, "/", name, ".key"), Contents(key.get()), 0600));
  return WriteFileAtomically(absl::StrCat(directory, "/", name, ".pem"),
                             Contents(certificate.get()), 0644);
}

absl::StatusOr<Identity> LoadAuthority(const std::string& directory) {
  CONCUR_ASSIGN_OR_RETURN(const std::string key_pem,
                          ReadFile(directory + "/ca.key", kTlsPemBytesMax));
  CONCUR_ASSIGN_OR_RETURN(const std::string pem, ReadFile(directory + "/ca.pem", kTlsPemBytesMax));
  const Bio key(BIO_new_mem_buf(key_pem.data(), static_cast<int>(key_pem.size())));
  const Bio certificate(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  Identity authority{Key(PEM_read_bio_PrivateKey(key.get(), nullptr, nullptr, nullptr)),
                     Certificate(PEM_read_bio_X509(certificate.get(), nullptr, nullptr, nullptr))};
  if (authority.key == nullptr || authority.certificate == nullptr ||
      X509_check_private_key(authority.certificate.get(), authority.key.get()) != 1) {
    ERR_clear_error();
    return absl::DataLossError(
        absl::StrCat(directory,
                     "/ca.pem and ca.key: expected a certificate and its key; remove both to make "
                     "new ones, which every client must then trust anew"));
  }
  return authority;
}

absl::StatusOr<Identity> LoadOrMakeAuthority(const std::string& directory, absl::Time now) {
  absl::StatusOr<Identity> loaded = LoadAuthority(directory);
  if (!absl::IsNotFound(loaded.status())) {
    return loaded;
  }
  CONCUR_ASSIGN_OR_RETURN(Identity made,
                          Make({"Concur CA",
                                kAuthorityLife,
                                {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                                 {NID_key_usage, "critical,keyCertSign,cRLSign"},
                                 {NID_subject_key_identifier, "hash"}}},
                               nullptr, now));
  CONCUR_RETURN_IF_ERROR(Save(made, directory, "ca"));
  return made;
}

// "IP:10.0.0.1" or "DNS:host.example"; other texts could add further names.
absl::StatusOr<std::string> AlternativeName(const std::string& host) {
  unsigned char address[sizeof(in6_addr)];
  if (inet_pton(AF_INET, host.c_str(), address) == 1 ||
      inet_pton(AF_INET6, host.c_str(), address) == 1) {
    return absl::StrCat("IP:", host);
  }
  const bool is_name =
      !host.empty() && host.size() <= 253 && std::all_of(host.begin(), host.end(), [](char c) {
        return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-';
      });
  if (!is_name) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--host: expected a host name or an IP address, without a port, got ", Quoted(host)));
  }
  return absl::StrCat("DNS:", host);
}

}  // namespace

absl::Status InitTls(const std::string& directory, const std::vector<std::string>& hosts,
                     absl::Time now) {
  std::vector<std::string> names = {"DNS:localhost", "IP:127.0.0.1", "IP:::1"};
  for (const std::string& host : hosts) {
    CONCUR_ASSIGN_OR_RETURN(std::string name, AlternativeName(host));
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(std::move(name));
    }
  }
  CONCUR_RETURN_IF_ERROR(MakeDirectories(directory, 0700));
  // Two coordinators of one data directory may start at once.
  CONCUR_ASSIGN_OR_RETURN(const FileDescriptor lock, LockFile(directory + "/init.lock"));
  CONCUR_ASSIGN_OR_RETURN(const Identity authority, LoadOrMakeAuthority(directory, now));
  const auto leaf = [](const char* name, const char* use) {
    return Request{name,
                   kLeafLife,
                   {{NID_basic_constraints, "critical,CA:FALSE"},
                    {NID_key_usage, "critical,digitalSignature"},
                    {NID_ext_key_usage, use},
                    {NID_subject_key_identifier, "hash"},
                    {NID_authority_key_identifier, "keyid"}}};
  };
  Request server = leaf("concur-coordinator", "serverAuth");
  server.extensions.emplace_back(NID_subject_alt_name, absl::StrJoin(names, ","));
  CONCUR_ASSIGN_OR_RETURN(const Identity server_identity, Make(server, &authority, now));
  CONCUR_RETURN_IF_ERROR(Save(server_identity, directory, "server"));
  CONCUR_ASSIGN_OR_RETURN(const Identity client_identity,
                          Make(leaf("concur-client", "clientAuth"), &authority, now));
  return Save(client_identity, directory, "client");
}

}  // namespace concur
