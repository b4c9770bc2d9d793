#include "coordinator/rpc_metrics.h"

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "coordinator/access.h"

namespace concur {
namespace {

using ::grpc::experimental::InterceptionHookPoints;

constexpr size_t kStatusCodes = 17;  // OK to UNAUTHENTICATED
constexpr char kStartedName[] = "grpc_server_call_started_total";
constexpr char kDurationName[] = "grpc_server_call_duration_seconds";

}  // namespace

// Histograms are made when a status first occurs: most pairs never do.
struct RpcMetricsFactory::Method {
  Method(MetricSet& given, std::string given_name)
      : metrics(given),
        name(std::move(given_name)),
        started(given.Counter(kStartedName, "Calls that have begun", {{"grpc_method", name}})) {}

  void End(grpc::StatusCode code, absl::Duration duration) {
    const size_t index = static_cast<size_t>(code) < kStatusCodes
                             ? static_cast<size_t>(code)
                             : static_cast<size_t>(grpc::StatusCode::UNKNOWN);
    prometheus::Histogram* histogram = durations[index].load(std::memory_order_acquire);
    if (histogram == nullptr) {
      histogram = &metrics.Histogram(
          kDurationName, "How long calls took, whole streams included", RpcSpans(),
          {{"grpc_method", name},
           {"grpc_status", absl::StatusCodeToString(static_cast<absl::StatusCode>(index))}});
      durations[index].store(histogram, std::memory_order_release);
    }
    histogram->Observe(absl::ToDoubleSeconds(duration));
  }

  MetricSet& metrics;
  const std::string name;
  prometheus::Counter& started;
  std::array<std::atomic<prometheus::Histogram*>, kStatusCodes> durations{};
};

namespace {

template <typename Method>
class RpcMetrics final : public grpc::experimental::Interceptor {
 public:
  explicit RpcMetrics(Method& method) : method_(method), begin_(absl::Now()) {
    method_.started.Increment();
  }
  ~RpcMetrics() override {
    if (!ended_) {  // the client went away before there was a status
      method_.End(grpc::StatusCode::CANCELLED, absl::Now() - begin_);
    }
  }

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS) && !ended_) {
      ended_ = true;
      method_.End(methods->GetSendStatus().error_code(), absl::Now() - begin_);
    }
    methods->Proceed();
  }

 private:
  Method& method_;
  const absl::Time begin_;
  bool ended_ = false;
};

}  // namespace

RpcMetricsFactory::RpcMetricsFactory(MetricSet& metrics)
    : other_(std::make_unique<Method>(metrics, "other")) {
  for (const MethodRule& rule : MethodRules()) {
    // A66 writes a method without the slash that leads it.
    std::string path(rule.method);
    methods_[path] = std::make_unique<Method>(metrics, path.substr(1));
  }
}

RpcMetricsFactory::~RpcMetricsFactory() = default;

grpc::experimental::Interceptor* RpcMetricsFactory::CreateServerInterceptor(
    grpc::experimental::ServerRpcInfo* info) {
  const auto it = methods_.find(absl::string_view(info->method()));
  return new RpcMetrics<Method>(it == methods_.end() ? *other_ : *it->second);
}

}  // namespace concur
