/* Stands in for a library that manages the threads of programs: what counts is its file's name. */
int fake_manager_is_loaded(void);

int fake_manager_is_loaded(void) {
  return 1;
}
