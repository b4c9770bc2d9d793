// SPDX-License-Identifier: Apache-2.0
// The entry of both gRPC services. Every call passes through here: it is looked up in the
// method table, authenticated once, checked against its method's role and the stream limits,
// handed to the service that does the work, and recorded in the metrics and the audit log.
//
// Thread-safe.
#ifndef CONCUR_COORDINATOR_SERVICES_SERVICE_FRONT_H_
#define CONCUR_COORDINATOR_SERVICES_SERVICE_FRONT_H_

#include <grpcpp/impl/service_type.h>
#include <grpcpp/server_builder.h>

#include <deque>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "coordinator/access/access.h"
#include "coordinator/access/audit_log.h"
#include "coordinator/gate/peers.h"
#include "coordinator/services/coordinator_service.h"
#include "coordinator/services/rpc_metrics.h"
#include "coordinator/services/stream_watch.h"
#include "coordinator/services/worker_service.h"

namespace concur {

// Objects that every call uses beside its service. All outlive the front.
struct ServiceFrontParts {
  Access& access;
  AuditLog& audit;
  StreamWatch& streams;
  const gate::Peers& peers;
  MetricSet* metrics;  // null: no metrics
};

class ServiceFront {
 public:
  // The services outlive it.
  ServiceFront(const ServiceFrontParts& parts, CoordinatorService& coordinator,
               WorkerService& workers);
  ~ServiceFront();

  // Has the server answer the services' methods. The front outlives the server.
  void AddTo(grpc::ServerBuilder& builder);

 private:
  class Interceptor;
  class InterceptorFactory;
  class Record;
  class Service;
  struct Method;

  const Method& Find(absl::string_view path) const;

  const ServiceFrontParts parts_;
  std::deque<MethodMetrics> metrics_;
  // Method for all unknown paths together: callers cannot create labels of metrics.
  std::unique_ptr<Method> other_;
  absl::flat_hash_map<absl::string_view, std::unique_ptr<Method>> methods_;  // by path
  std::vector<std::unique_ptr<Service>> services_;
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_SERVICES_SERVICE_FRONT_H_
