// Latency of calls, counted inside gRPC under the names that gRPC's proposal A66 gives them, the
// same for every method: grpc_server_call_started_total and grpc_server_call_duration_seconds, by
// grpc_method and grpc_status.
//
// A parked Sync, a watch and a followed log last as long as they are meant to.
#ifndef CONCUR_COORDINATOR_RPC_METRICS_H_
#define CONCUR_COORDINATOR_RPC_METRICS_H_

#include <grpcpp/support/server_interceptor.h>

#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "metrics/metric_set.h"

namespace concur {

// Thread-safe.
class RpcMetricsFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  // `metrics` outlives it.
  explicit RpcMetricsFactory(MetricSet& metrics);
  ~RpcMetricsFactory() override;

  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override;

 private:
  struct Method;
  // Fixed after construction: a stranger's method names make no new labels.
  absl::flat_hash_map<std::string, std::unique_ptr<Method>> methods_;
  std::unique_ptr<Method> other_;
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_RPC_METRICS_H_
