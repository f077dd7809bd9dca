/* The words about waiting of LLVM's OpenMP runtime, without a runtime behind them: the library
 * exports kmp_get_blocktime() and kmp_set_blocktime(), and here is what they hold. Milliseconds. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

int fake_block_time(void);
void set_fake_block_time(int milliseconds);

#ifdef __cplusplus
}
#endif
