/* A library that is called like PyTorch's and is none that there is a bridge for. */
int sum_in_a_team(int count);

int sum_in_a_team(int count) {
  int sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i < count; ++i) sum += i;
  return sum;
}
