// Included before every source of the shim by the build: which version of a C library's function
// the shim asks for. A linker takes the newest, and a program in a container with an older C
// library would then not start at all. Nothing to be included by hand.
#pragma once

#include <sys/stat.h>

// The first version that each of these had, where the newest is a later one: those that moved into
// libc.so.6 with 2.34. The build names the versions, which belong to the processor; where it names
// none there was nothing older.
#ifdef OPTILE_GLIBC_FIRST
#define OPTILE_ASK_FOR(name, version) __asm__(".symver " #name "," #name "@" version)
OPTILE_ASK_FOR(dladdr, OPTILE_GLIBC_FIRST);
OPTILE_ASK_FOR(dlerror, OPTILE_GLIBC_FIRST);
OPTILE_ASK_FOR(dlopen, OPTILE_GLIBC_FIRST);
OPTILE_ASK_FOR(dlsym, OPTILE_GLIBC_FIRST);
OPTILE_ASK_FOR(pthread_getcpuclockid, OPTILE_GLIBC_FIRST);
OPTILE_ASK_FOR(pthread_key_create, OPTILE_GLIBC_FIRST);
OPTILE_ASK_FOR(pthread_mutex_consistent, OPTILE_GLIBC_ROBUST);
OPTILE_ASK_FOR(pthread_mutex_trylock, OPTILE_GLIBC_FIRST);
OPTILE_ASK_FOR(pthread_mutexattr_destroy, OPTILE_GLIBC_FIRST);
OPTILE_ASK_FOR(pthread_mutexattr_init, OPTILE_GLIBC_FIRST);
OPTILE_ASK_FOR(pthread_mutexattr_setpshared, OPTILE_GLIBC_FIRST);
OPTILE_ASK_FOR(pthread_mutexattr_setrobust, OPTILE_GLIBC_ROBUST);
OPTILE_ASK_FOR(pthread_setcancelstate, OPTILE_GLIBC_FIRST);
OPTILE_ASK_FOR(pthread_setspecific, OPTILE_GLIBC_FIRST);
#undef OPTILE_ASK_FOR
#endif

// Functions of their own only since 2.33: asked of the kernel, whose struct the C library's is on
// 64-bit machines. Like theirs: 0, or -1 with errno.
extern "C" {
// NOLINTBEGIN(readability-redundant-declaration): the header's do not say which symbol is meant
int stat(const char* path, struct stat* found) noexcept __asm__("optile_kernel_stat");
int lstat(const char* path, struct stat* found) noexcept __asm__("optile_kernel_lstat");
int fstat(int fd, struct stat* found) noexcept __asm__("optile_kernel_fstat");
// NOLINTEND(readability-redundant-declaration)
}
