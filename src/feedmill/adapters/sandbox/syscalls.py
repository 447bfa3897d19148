"""Numbers of system calls and the names of the processor architectures that they are valid for.

Source: Linux, arch/x86/entry/syscalls/syscall_64.tbl; include/uapi/asm-generic/unistd.h (aarch64); include/uapi/linux/audit.h.
"""

import platform
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

AUDIT_ARCH_X86_64: Final = 0xC000003E
AUDIT_ARCH_AARCH64: Final = 0xC00000B7
X32_BIT: Final = 0x40000000
"""Set in the numbers of calls of the x32 ABI, which share the architecture's name."""

# name, x86_64, aarch64; None if the architecture has no such call
_TABLE: Final[tuple[tuple[str, int | None, int | None], ...]] = (
    ("read", 0, 63),
    ("write", 1, 64),
    ("close", 3, 57),
    ("fstat", 5, 80),
    ("poll", 7, None),
    ("lseek", 8, 62),
    ("mmap", 9, 222),
    ("mprotect", 10, 226),
    ("munmap", 11, 215),
    ("brk", 12, 214),
    ("rt_sigaction", 13, 134),
    ("rt_sigprocmask", 14, 135),
    ("rt_sigreturn", 15, 139),
    ("ioctl", 16, 29),
    ("pread64", 17, 67),
    ("readv", 19, 65),
    ("writev", 20, 66),
    ("sched_yield", 24, 124),
    ("mremap", 25, 216),
    ("madvise", 28, 233),
    ("nanosleep", 35, 101),
    ("alarm", 37, None),
    ("setitimer", 38, 103),
    ("getpid", 39, 172),
    ("socket", 41, 198),
    ("sendto", 44, 206),
    ("recvfrom", 45, 207),
    ("recvmsg", 47, 212),
    ("shutdown", 48, 210),
    ("getsockname", 51, 204),
    ("socketpair", 53, 199),
    ("getsockopt", 55, 209),
    ("clone", 56, 220),
    ("exit", 60, 93),
    ("uname", 63, 160),
    ("fcntl", 72, 25),
    ("gettimeofday", 96, 169),
    ("getrusage", 98, 165),
    ("sysinfo", 99, 179),
    ("times", 100, 153),
    ("ptrace", 101, 117),
    ("getuid", 102, 174),
    ("getgid", 104, 176),
    ("geteuid", 107, 175),
    ("getegid", 108, 177),
    ("sigaltstack", 131, 132),
    ("pivot_root", 155, 41),
    ("prctl", 157, 167),
    ("mount", 165, 40),
    ("umount2", 166, 39),
    ("gettid", 186, 178),
    ("time", 201, None),
    ("futex", 202, 98),
    ("sched_getaffinity", 204, 123),
    ("set_tid_address", 218, 96),
    ("restart_syscall", 219, 128),
    ("clock_gettime", 228, 113),
    ("clock_getres", 229, 114),
    ("clock_nanosleep", 230, 115),
    ("exit_group", 231, 94),
    ("epoll_wait", 232, None),
    ("epoll_ctl", 233, 21),
    ("add_key", 248, 217),
    ("request_key", 249, 218),
    ("keyctl", 250, 219),
    ("ppoll", 271, 73),
    ("set_robust_list", 273, 99),
    ("epoll_pwait", 281, 22),
    ("eventfd2", 290, 19),
    ("epoll_create1", 291, 20),
    ("perf_event_open", 298, 241),
    ("prlimit64", 302, 261),
    ("open_by_handle_at", 304, 265),
    ("setns", 308, 268),
    ("getcpu", 309, 168),
    ("process_vm_readv", 310, 270),
    ("process_vm_writev", 311, 271),
    ("kcmp", 312, 272),
    ("getrandom", 318, 278),
    ("bpf", 321, 280),
    ("userfaultfd", 323, 282),
    ("membarrier", 324, 283),
    ("rseq", 334, 293),
    ("io_uring_setup", 425, 425),
    ("io_uring_enter", 426, 426),
    ("io_uring_register", 427, 427),
    ("open_tree", 428, 428),
    ("move_mount", 429, 429),
    ("fsopen", 430, 430),
    ("fsmount", 432, 432),
    ("clone3", 435, 435),
    ("pidfd_getfd", 438, 438),
    ("epoll_pwait2", 441, 441),
    ("mount_setattr", 442, 442),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """A processor architecture: its name in the kernel's filters, and its system call numbers by name."""

    audit: int
    numbers: MappingProxyType[str, int]
    has_x32: bool = False


def _numbers(column: int) -> MappingProxyType[str, int]:
    return MappingProxyType({str(row[0]): number for row in _TABLE if isinstance(number := row[column], int)})


X86_64: Final = Architecture(audit=AUDIT_ARCH_X86_64, numbers=_numbers(1), has_x32=True)
AARCH64: Final = Architecture(audit=AUDIT_ARCH_AARCH64, numbers=_numbers(2))


def find_architecture(machine: str | None = None) -> Architecture | None:
    """Returns the architecture that this program runs on, None if there is no table for it."""
    return {"x86_64": X86_64, "aarch64": AARCH64}.get(machine or platform.machine())
