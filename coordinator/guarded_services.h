// The services as the network sees them: every call goes through Access before the service that
// does the work hears of it. A method that is not forwarded here does not exist outside.
//
// Thread-safe.
#ifndef CONCUR_COORDINATOR_GUARDED_SERVICES_H_
#define CONCUR_COORDINATOR_GUARDED_SERVICES_H_

#include <grpcpp/impl/service_type.h>

#include <memory>

#include "coordinator/access.h"
#include "coordinator/coordinator_service.h"
#include "coordinator/stream_watch.h"
#include "coordinator/worker_service.h"

namespace concur {

// All outlive what is made of them.
std::unique_ptr<grpc::Service> MakeGuardedCoordinator(Access& access, const StreamWatch& streams,
                                                      CoordinatorService& service);
std::unique_ptr<grpc::Service> MakeGuardedWorkerGateway(Access& access, WorkerService& service);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_GUARDED_SERVICES_H_
