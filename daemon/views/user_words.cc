#include "daemon/views/user_words.h"

namespace optile::daemon {

std::string binding_word(const Hello& hello, const ClientHeader& header) {
  if (header.own_width_source != OPTILE_WIDTH_ENVIRONMENT) return "";
  const auto width = static_cast<uint32_t>(header.own_width);
  // The launcher writes the limit into OMP_NUM_THREADS too, so it is asked for first.
  if (hello.omp_thread_limit != 0 && width == hello.omp_thread_limit) return "OMP_THREAD_LIMIT";
  const bool by_mkl = width == hello.mkl_num_threads && width != hello.omp_num_threads;
  return hello.mkl_num_threads != 0 && by_mkl ? "MKL_NUM_THREADS" : "OMP_NUM_THREADS";
}

nlohmann::json words_on_pools(const Hello& hello) {
  nlohmann::json words = nlohmann::json::array();
  const auto add = [&words](const char* name, uint32_t count, const char* consequence) {
    if (count == 0) return;
    words.push_back({{"name", name}, {"count", count}, {"consequence", consequence}});
  };
  add("OPENBLAS_NUM_THREADS", hello.openblas_num_threads, "OpenBLAS's pool keeps its size");
  // OpenBLAS reads the older name only without the newer one.
  if (hello.openblas_num_threads == 0) {
    add("GOTO_NUM_THREADS", hello.goto_num_threads, "OpenBLAS's pool keeps its size");
  }
  add("MKL_NUM_THREADS", hello.mkl_num_threads, "MKL never uses more");
  add("BLIS_NUM_THREADS", hello.blis_num_threads, "BLIS keeps to it");
  return words;
}

}  // namespace optile::daemon
