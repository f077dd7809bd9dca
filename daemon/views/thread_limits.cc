#include "daemon/views/thread_limits.h"

#include "bindings/abi/api_fields.h"

namespace optile::daemon {

std::string limiting_variable(const AttachRequest& attach_request, const ClientHeader& header) {
  if (header.default_width_source != OPTILE_WIDTH_ENVIRONMENT) return "";
  const auto width = static_cast<uint32_t>(header.default_width);
  // The launcher writes the limit into OMP_NUM_THREADS too, so it is asked for first.
  if (attach_request.omp_thread_limit != 0 && width == attach_request.omp_thread_limit)
    return "OMP_THREAD_LIMIT";
  const bool by_mkl =
      width == attach_request.mkl_num_threads && width != attach_request.omp_num_threads;
  return attach_request.mkl_num_threads != 0 && by_mkl ? "MKL_NUM_THREADS" : "OMP_NUM_THREADS";
}

nlohmann::json pool_limits(const AttachRequest& attach_request) {
  nlohmann::json limits = nlohmann::json::array();
  const auto add = [&limits](const char* name, uint32_t count, const char* consequence) {
    if (count == 0) return;
    limits.push_back(
        {{field::kName, name}, {field::kCount, count}, {field::kConsequence, consequence}});
  };
  add("OPENBLAS_NUM_THREADS", attach_request.openblas_num_threads,
      "OpenBLAS's pool keeps its size");
  // OpenBLAS reads the older name only without the newer one.
  if (attach_request.openblas_num_threads == 0) {
    add("GOTO_NUM_THREADS", attach_request.goto_num_threads, "OpenBLAS's pool keeps its size");
  }
  add("MKL_NUM_THREADS", attach_request.mkl_num_threads, "MKL never uses more");
  add("BLIS_NUM_THREADS", attach_request.blis_num_threads, "BLIS keeps to it");
  return limits;
}

}  // namespace optile::daemon
