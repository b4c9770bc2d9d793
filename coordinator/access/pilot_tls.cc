// SPDX-License-Identifier: Apache-2.0
#include "coordinator/access/pilot_tls.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace concur {
namespace {

constexpr int64_t kPilotPemBytesMax = 1 << 20;

template <auto kFree>
struct PilotFreer {
  template <typename T>
  void operator()(T* thing) const {
    kFree(thing);
  }
};
using PilotBio = std::unique_ptr<BIO, PilotFreer<BIO_free_all>>;
using PilotKey = std::unique_ptr<EVP_PKEY, PilotFreer<EVP_PKEY_free>>;
using PilotCertificate = std::unique_ptr<X509, PilotFreer<X509_free>>;
using PilotStore = std::unique_ptr<X509_STORE, PilotFreer<X509_STORE_free>>;
using PilotStoreContext = std::unique_ptr<X509_STORE_CTX, PilotFreer<X509_STORE_CTX_free>>;
using PilotNames = std::unique_ptr<GENERAL_NAMES, PilotFreer<GENERAL_NAMES_free>>;

PilotBio ReaderOf(const std::string& pem) {
  return PilotBio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

// All certificates of a PEM text, in order; other contents are ignored.
std::vector<PilotCertificate> CertificatesOf(const std::string& pem) {
  std::vector<PilotCertificate> certificates;
  const PilotBio bio = ReaderOf(pem);
  for (;;) {
    PilotCertificate certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    if (certificate == nullptr) {
      break;
    }
    certificates.push_back(std::move(certificate));
  }
  ERR_clear_error();
  return certificates;
}

// Why clients or servers (`purpose`) that trust the CA would refuse the certificate; "" if they
// would accept it.
std::string WhyRefused(const std::string& certificate_pem, const std::string& ca_pem, int purpose) {
  const std::vector<PilotCertificate> chain = CertificatesOf(certificate_pem);
  const std::vector<PilotCertificate> authorities = CertificatesOf(ca_pem);
  if (chain.empty() || authorities.empty()) {
    return chain.empty() ? "no certificate in PEM" : "no CA in PEM";
  }
  const PilotStore store(X509_STORE_new());
  for (const PilotCertificate& authority : authorities) {
    X509_STORE_add_cert(store.get(), authority.get());
  }
  STACK_OF(X509)* between = sk_X509_new_null();
  for (size_t i = 1; i < chain.size(); ++i) {
    sk_X509_push(between, chain[i].get());
  }
  const PilotStoreContext context(X509_STORE_CTX_new());
  std::string why;
  if (X509_STORE_CTX_init(context.get(), store.get(), chain[0].get(), between) != 1 ||
      X509_STORE_CTX_set_purpose(context.get(), purpose) != 1) {
    why = "it cannot be checked";
  } else if (X509_verify_cert(context.get()) != 1) {
    why = X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()));
  }
  sk_X509_free(between);
  ERR_clear_error();
  return why;
}

bool IsKeyOf(const std::string& key_pem, const std::string& certificate_pem) {
  const std::vector<PilotCertificate> chain = CertificatesOf(certificate_pem);
  const PilotBio bio = ReaderOf(key_pem);
  const PilotKey key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
  const bool matches =
      !chain.empty() && key != nullptr && X509_check_private_key(chain[0].get(), key.get()) == 1;
  ERR_clear_error();
  return matches;
}

// The host names and IP addresses that a certificate is for.
std::vector<std::string> HostsOf(X509* certificate) {
  std::vector<std::string> hosts;
  const PilotNames names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_DNS) {
      hosts.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)),
                         static_cast<size_t>(ASN1_STRING_length(name->d.dNSName)));
    } else if (name->type == GEN_IPADD) {
      char text[INET6_ADDRSTRLEN] = "";
      inet_ntop(ASN1_STRING_length(name->d.iPAddress) == 4 ? AF_INET : AF_INET6,
                ASN1_STRING_get0_data(name->d.iPAddress), text, sizeof text);
      hosts.emplace_back(text);
    }
  }
  return hosts;
}

std::string Beside(const std::string& path, const char* name) {
  const size_t slash = path.rfind('/');
  return absl::StrCat(slash == std::string::npos ? "" : path.substr(0, slash + 1), name);
}

// The CA that workers trust for the server's certificate.
absl::StatusOr<std::string> FindAuthority(const TlsFiles& server, const PilotFiles& files,
                                          const std::string& server_certificate) {
  if (!files.ca.empty()) {
    CONCUR_ASSIGN_OR_RETURN(std::string ca, ReadFile(files.ca, kPilotPemBytesMax));
    const std::string why = WhyRefused(server_certificate, ca, X509_PURPOSE_SSL_SERVER);
    return why.empty() ? absl::StatusOr<std::string>(std::move(ca))
                       : absl::InvalidArgumentError(
                             absl::StrCat("pilots.ca: expected the CA of tls.certificate, ",
                                          server.certificate, ", got ", files.ca, ": ", why));
  }
  std::vector<std::string> tried;
  for (const std::string& path : {server.client_ca, Beside(server.certificate, "ca.pem")}) {
    const absl::StatusOr<std::string> ca =
        path.empty() ? absl::NotFoundError("none") : ReadFile(path, kPilotPemBytesMax);
    if (!ca.ok()) {
      continue;
    }
    const std::string why = WhyRefused(server_certificate, *ca, X509_PURPOSE_SSL_SERVER);
    if (why.empty()) {
      return *ca;
    }
    tried.push_back(absl::StrCat(path, ": ", why));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "pilots.ca: expected the CA of tls.certificate, ", server.certificate,
      ", for the workers of pools to know it by, got none",
      tried.empty() ? "" : absl::StrCat(" (not ", absl::StrJoin(tried, "; not "), ")")));
}

}  // namespace

absl::StatusOr<PilotTls> PilotTls::Load(const TlsFiles& server, const PilotFiles& files) {
  PilotTls tls;
  if (server.certificate.empty()) {
    // The files are for a proxy in front of the coordinator.
    for (const auto& [path, text] :
         {std::pair(&files.ca, &tls.ca_), std::pair(&files.certificate, &tls.certificate_),
          std::pair(&files.key, &tls.key_)}) {
      if (!path->empty()) {
        CONCUR_ASSIGN_OR_RETURN(*text, ReadFile(*path, kPilotPemBytesMax));
      }
    }
    return tls;
  }
  CONCUR_ASSIGN_OR_RETURN(tls.server_certificate_, ReadFile(server.certificate, kPilotPemBytesMax));
  CONCUR_ASSIGN_OR_RETURN(tls.ca_, FindAuthority(server, files, tls.server_certificate_));
  if (server.client_ca.empty()) {
    return tls;
  }
  const bool named = !files.certificate.empty();
  const std::string certificate =
      named ? files.certificate : Beside(server.certificate, "client.pem");
  const std::string key = named ? files.key : Beside(server.certificate, "client.key");
  absl::StatusOr<std::string> certificate_pem = ReadFile(certificate, kPilotPemBytesMax);
  absl::StatusOr<std::string> key_pem = ReadFile(key, kPilotPemBytesMax);
  if (!certificate_pem.ok() || !key_pem.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "pilots.certificate, pilots.key: expected what the workers of pools show to a coordinator "
        "with tls.client_ca: ",
        (certificate_pem.ok() ? key_pem : certificate_pem).status().message()));
  }
  CONCUR_ASSIGN_OR_RETURN(const std::string client_ca,
                          ReadFile(server.client_ca, kPilotPemBytesMax));
  if (const std::string why = WhyRefused(*certificate_pem, client_ca, X509_PURPOSE_SSL_CLIENT);
      !why.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("pilots.certificate: expected one that tls.client_ca, ", server.client_ca,
                     ", takes from clients, got ", certificate, ": ", why));
  }
  if (!IsKeyOf(*key_pem, *certificate_pem)) {
    return absl::InvalidArgumentError(
        absl::StrCat("pilots.key: expected the key of ", certificate, ", got ", key));
  }
  tls.certificate_ = *std::move(certificate_pem);
  tls.key_ = *std::move(key_pem);
  return tls;
}

absl::Status PilotTls::CheckAddress(absl::string_view addresses) const {
  if (server_certificate_.empty()) {
    return absl::OkStatus();
  }
  const std::vector<PilotCertificate> chain = CertificatesOf(server_certificate_);
  std::string host;
  for (const absl::string_view address : absl::StrSplit(addresses, ',')) {
    if (absl::StartsWith(address, "unix:")) {
      return absl::OkStatus();
    }
    host = std::string(address.substr(0, address.rfind(':')));
    if (absl::StartsWith(host, "[") && absl::EndsWith(host, "]")) {
      host = host.substr(1, host.size() - 2);
    }
    if (!chain.empty() &&
        (X509_check_host(chain[0].get(), host.data(), host.size(), 0, nullptr) == 1 ||
         X509_check_ip_asc(chain[0].get(), host.c_str(), 0) == 1)) {
      return absl::OkStatus();
    }
  }
  ERR_clear_error();
  return absl::InvalidArgumentError(
      absl::StrCat("the workers of pools are to call ", addresses, ", and tls.certificate is for ",
                   chain.empty() ? "" : absl::StrJoin(HostsOf(chain[0].get()), ", "),
                   ": name one of these with pilots.coordinator, or make a certificate for ", host,
                   " with \"concur-coordinator init-tls --host ", host, "\""));
}

}  // namespace concur
