#include "sandbox.h"

#include "report.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

static bool in_use = true;

void
sandbox_use(bool use)
{
	in_use = use;
}

#if defined(__linux__)

#include <fcntl.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#if defined(__x86_64__) && !defined(__ILP32__)
#define ARCHITECTURE 0xC000003E
#elif defined(__i386__)
#define ARCHITECTURE 0x40000003
#elif defined(__aarch64__)
#define ARCHITECTURE 0xC00000B7
#elif defined(__arm__) && !defined(__ARMEB__)
#define ARCHITECTURE 0x40000028
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCHITECTURE 0xC00000F3
#endif
#endif

#if defined(ARCHITECTURE)

/* The kernel's interface (seccomp(2)); its headers are not available with every C library. */
struct sock_filter {
	uint16_t code;
	uint8_t yes, no; /* instructions to skip */
	uint32_t value;
};

struct sock_fprog {
	unsigned short len;
	struct sock_filter *filter;
};

struct seccomp_data {
	int nr;
	uint32_t arch;
	uint64_t instruction_pointer, args[6];
};

enum { LOAD = 0x20, JUMP_EQUAL = 0x15, JUMP_ANY_BIT = 0x45, RETURN = 0x06, MODE_FILTER = 2 };

#define PASS     0x7FFF0000u
#define FAIL     0x00050000u /* combined with an errno */
#define KILL_ALL 0x80000000u

/* System calls of all processes: read files, sleep and wake, use memory, report, exit. */
static const int both[] = {
	SYS_read, SYS_pread64, SYS_write, SYS_writev, SYS_close, SYS_lseek, SYS_fstat, SYS_fcntl, SYS_getdents64,
	SYS_futex, SYS_set_robust_list, SYS_munmap, SYS_mprotect, SYS_madvise, SYS_mremap, SYS_brk, SYS_ppoll, SYS_clock_gettime,
	SYS_rt_sigreturn, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_restart_syscall, SYS_getpid, SYS_gettid,
	SYS_sendto, SYS_shutdown, SYS_exit, SYS_exit_group,
#ifdef SYS_mmap
	SYS_mmap,
#endif
#ifdef SYS_mmap2
	SYS_mmap2,
#endif
#ifdef SYS_newfstatat
	SYS_newfstatat,
#endif
#ifdef SYS_fstat64
	SYS_fstat64, SYS_fstatat64,
#endif
#ifdef SYS_statx
	SYS_statx,
#endif
#ifdef SYS_fcntl64
	SYS_fcntl64, SYS__llseek,
#endif
#ifdef SYS_poll
	SYS_poll,
#endif
#ifdef SYS_send
	SYS_send,
#endif
#ifdef SYS_socketcall
	SYS_socketcall, /* i386's single call for all socket functions */
#endif
#ifdef SYS_futex_time64
	SYS_futex_time64, SYS_ppoll_time64, SYS_clock_gettime64,
#endif
#ifdef SYS_time
	SYS_time, SYS_gettimeofday,
#endif
};

/* Further calls of RECV: read the connection, append to logs and sync them, replace small files. */
static const int recv_too[] = {
	SYS_recvfrom, SYS_pselect6, SYS_pwrite64, SYS_openat, SYS_flock, SYS_ftruncate, SYS_fsync, SYS_fdatasync, SYS_mkdirat, SYS_unlinkat, SYS_fchmod, SYS_fchmodat,
#ifdef SYS_open
	SYS_open,
#endif
#ifdef SYS_recv
	SYS_recv,
#endif
#ifdef SYS_renameat
	SYS_renameat,
#endif
#ifdef SYS_renameat2
	SYS_renameat2,
#endif
#ifdef SYS_ftruncate64
	SYS_ftruncate64,
#endif
#ifdef SYS_pselect6_time64
	SYS_pselect6_time64,
#endif
#ifdef SYS__newselect
	SYS__newselect,
#endif
};

enum { COUNT_BOTH = sizeof both / sizeof *both, COUNT_RECV = sizeof recv_too / sizeof *recv_too, PROGRAM_MAX = 2 * (COUNT_BOTH + COUNT_RECV) + 16 };

struct program {
	struct sock_filter at[PROGRAM_MAX];
	unsigned short length;
};

static void
add(struct program *p, unsigned short code, unsigned char yes, unsigned char no, unsigned value)
{
	p->at[p->length++] = (struct sock_filter){ code, yes, no, value };
}

static void
load(struct program *p, size_t offset)
{
	add(p, LOAD, 0, 0, (unsigned)offset);
}

/* Adds two instructions for each allowed call: compare, allow. */
static void
allow(struct program *p, const int *calls, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		add(p, JUMP_EQUAL, 0, 1, (unsigned)calls[i]);
		add(p, RETURN, 0, 0, PASS);
	}
}

/* Loads the low half of an argument, which in little-endian order is first. */
static void
load_argument(struct program *p, unsigned number)
{
	size_t at = offsetof(struct seccomp_data, args) + number * sizeof(uint64_t);

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	at += 4;
#endif
	load(p, at);
}

/* Allows openat if it only reads. Its flags are the third argument. */
static void
allow_reading(struct program *p)
{
	add(p, JUMP_EQUAL, 0, 4, SYS_openat);
	load_argument(p, 2);
	add(p, JUMP_ANY_BIT, 1, 0, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC);
	add(p, RETURN, 0, 0, PASS);
	add(p, RETURN, 0, 0, FAIL | EPERM);
}

/* Allows the ioctl of net_unacknowledged only. The kernel takes the low half of its second
 * argument. */
static void
allow_unacknowledged(struct program *p)
{
	add(p, JUMP_EQUAL, 0, 4, SYS_ioctl);
	load_argument(p, 1);
	add(p, JUMP_EQUAL, 0, 1, TIOCOUTQ);
	add(p, RETURN, 0, 0, PASS);
	add(p, RETURN, 0, 0, FAIL | EPERM);
}

/* All other calls fail with EPERM, so that a C library can continue without an optional call. */
static void
confine(bool receiver)
{
	static struct program p;
	struct sock_fprog all = { .filter = p.at };

	load(&p, offsetof(struct seccomp_data, arch));
	add(&p, JUMP_EQUAL, 1, 0, ARCHITECTURE);
	add(&p, RETURN, 0, 0, KILL_ALL);
	load(&p, offsetof(struct seccomp_data, nr));
	allow(&p, both, COUNT_BOTH);
	allow_unacknowledged(&p);
	if (receiver)
		allow(&p, recv_too, COUNT_RECV);
	else
		allow_reading(&p);
	add(&p, RETURN, 0, 0, FAIL | EPERM);
	all.len = p.length;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, MODE_FILTER, &all, 0, 0) != 0)
		report("cannot filter system calls: %s", strerror(errno));
}

#elif defined(__OpenBSD__)

#include <unistd.h>

static void
confine(bool receiver)
{
	if (pledge(receiver ? "stdio rpath wpath cpath flock" : "stdio rpath", NULL) != 0)
		report("cannot pledge: %s", strerror(errno));
}

#elif defined(__FreeBSD__)

#include <sys/capsicum.h>

/* Files are opened relative to the data directory's descriptor only, which capability mode
 * allows. */
static void
confine(bool receiver)
{
	(void)receiver;
	if (cap_enter() != 0 && errno != ENOSYS)
		report("cannot enter capability mode: %s", strerror(errno));
}

#else

static void
confine(bool receiver)
{
	(void)receiver;
}

#endif

void
sandbox_recv(void)
{
	if (in_use)
		confine(true);
}

void
sandbox_send(void)
{
	if (in_use)
		confine(false);
}

void
sandbox_keeper(void)
{
	sandbox_recv();
}
