/* Needs an entry point of libgomp that LLVM's runtime has not. GCC only: clang does not know it. */
void warn_while_running(int wrong);

void warn_while_running(int wrong) {
  if (wrong) {
#pragma omp error at(execution) severity(warning)
  }
}
