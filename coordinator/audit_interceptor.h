// Writes the audit log from inside gRPC, the same for every method of both services: no service has
// to think of it.
#ifndef CONCUR_COORDINATOR_AUDIT_INTERCEPTOR_H_
#define CONCUR_COORDINATOR_AUDIT_INTERCEPTOR_H_

#include <grpcpp/support/server_interceptor.h>

#include "coordinator/access.h"
#include "coordinator/audit_log.h"

namespace concur {

// Thread-safe.
class AuditInterceptorFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  // Both outlive it.
  AuditInterceptorFactory(Access& access, AuditLog& log) : access_(access), log_(log) {}

  // None for methods that have no rule, such as health checks.
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override;

 private:
  Access& access_;
  AuditLog& log_;
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_AUDIT_INTERCEPTOR_H_
