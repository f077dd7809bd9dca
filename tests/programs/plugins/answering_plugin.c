/* A plugin with a region and a count of its calls, built twice with different answers. */
__attribute__((visibility("default"))) long plugin_answer(void);

static long calls = 0;

long plugin_answer(void) {
  long sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i < 10; i++) sum += OPTILE_TEST_ANSWER;
  /* One that was loaded before would go on counting. */
  return sum + calls++;
}
