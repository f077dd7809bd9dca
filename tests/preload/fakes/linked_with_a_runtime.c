/* Loads the library beside it, and the runtime that that one is not linked with. */
extern int thread_of_a_region(int threads);
extern int fake_kmpc(void);
int ask(int threads);

int ask(int threads) {
  return fake_kmpc() == 70 ? thread_of_a_region(threads) : -2;
}
