"""System call filters: a list of allowed calls, all others are refused; or, for programs that need many calls, a list of refused ones.

A filter is a program of the classic Berkeley packet filter that the kernel runs before each system call. It sees the call's number, the
architecture that the number belongs to, and the arguments as numbers, never the memory that they point to. A call that takes a path is
therefore refused as a whole. A call that is harmless with some arguments alone has these compared:

- the program first compares the architecture, and on x86_64 the bit of the x32 ABI: calls by another table end the process;
- a call without condition is allowed;
- a call with conditions is allowed if all of them hold;
- clone3, whose arguments lie in memory, returns ENOSYS where it is not allowed, upon which the C library uses clone;
- every other call returns EPERM, which libraries handle as an ordinary error. In a filter with ``refused``, it is allowed instead, and the
  calls of that list return EPERM, as do the conditional ones whose conditions do not hold.

Source: Linux, Documentation/userspace-api/seccomp_filter.rst; include/uapi/linux/seccomp.h, filter.h, bpf_common.h.
"""

import ctypes
import errno
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from feedmill.adapters.sandbox import kernel
from feedmill.adapters.sandbox.syscalls import X32_BIT, Architecture, find_architecture

_MODE_FILTER: Final = 2
_KILL_PROCESS: Final = 0x80000000
_ERRNO: Final = 0x00050000
_ALLOW: Final = 0x7FFF0000

_LOAD: Final = 0x20  # BPF_LD | BPF_W | BPF_ABS
_JUMP_EQUAL: Final = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_JUMP_GREATER_EQUAL: Final = 0x35  # BPF_JMP | BPF_JGE | BPF_K
_AND: Final = 0x54  # BPF_ALU | BPF_AND | BPF_K
_RETURN: Final = 0x06  # BPF_RET | BPF_K
_INSTRUCTION: Final = struct.Struct("=HBBI")
_OFFSET_NUMBER: Final = 0
_OFFSET_ARCHITECTURE: Final = 4
_OFFSET_ARGUMENTS: Final = 16

_PROT_EXEC: Final = 4
_CLONE_THREAD: Final = 0x00010000
_CLONE_NEW: Final = 0x7E020080
"""The flags of clone that create namespaces."""
_AF_UNIX: Final = 1
_SOCK_STREAM: Final = 1
_SOCK_SEQPACKET: Final = 5
_SOCK_FLAGS: Final = 0x80800
"""SOCK_NONBLOCK and SOCK_CLOEXEC, which may be combined with a socket's type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """Holds if an argument, as far as ``mask`` covers it, is one of ``values``. Units: ``argument`` counts from 0."""

    argument: int
    values: tuple[int, ...]
    mask: int = 0xFFFFFFFFFFFFFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """The calls that a process may make: names without condition, and names with conditions that must all hold.

    With ``refused``, all calls are allowed but these.
    """

    allowed: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    conditional: Mapping[str, tuple[Condition, ...]] = field(default_factory=dict)


_NOT_EXECUTABLE: Final = (Condition(argument=2, values=(0,), mask=_PROT_EXEC),)
_OWN_LIMITS: Final = (Condition(argument=0, values=(0,)), Condition(argument=2, values=(0,)))
_FCNTL: Final = (Condition(argument=1, values=(1, 2, 3, 4, 1030), mask=0xFFFFFFFF),)
"""F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC; F_SETOWN would send signals to other processes."""
_IOCTL: Final = (Condition(argument=1, values=(0x5401, 0x541B, 0x5421, 0x5450, 0x5451), mask=0xFFFFFFFF),)
"""TCGETS, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX; FIOSETOWN would send signals to other processes."""
_PRCTL: Final = (Condition(argument=0, values=(15, 0x53564D41), mask=0xFFFFFFFF),)
"""PR_SET_NAME and PR_SET_VMA, by which libraries name their threads and memory."""

COMPUTING: Final = Filter(
    allowed=(
        *("read", "pread64", "readv", "write", "writev", "close", "lseek", "fstat", "poll", "ppoll"),
        *("munmap", "mremap", "madvise", "brk", "membarrier"),
        *("rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "restart_syscall"),
        *("nanosleep", "clock_nanosleep", "clock_gettime", "clock_getres", "gettimeofday", "time", "times"),
        *("futex", "set_robust_list", "set_tid_address", "rseq", "sched_yield", "sched_getaffinity", "getcpu"),
        *("getpid", "gettid", "getuid", "geteuid", "getgid", "getegid", "getrusage", "uname", "sysinfo", "getrandom"),
        *("exit", "exit_group"),
    ),
    conditional={
        "mmap": _NOT_EXECUTABLE,
        "mprotect": _NOT_EXECUTABLE,
        "prlimit64": _OWN_LIMITS,
        "fcntl": _FCNTL,
        "ioctl": _IOCTL,
        "prctl": _PRCTL,
    },
)
"""Permits computing, and the use of open descriptors."""

EXTRACTING: Final = Filter(
    allowed=(
        *COMPUTING.allowed,
        *("recvmsg", "recvfrom", "shutdown", "getsockname", "getsockopt"),
        *("eventfd2", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2"),
    ),
    conditional={
        **COMPUTING.conditional,
        "clone": (
            Condition(argument=0, values=(_CLONE_THREAD,), mask=_CLONE_THREAD),
            Condition(argument=0, values=(0,), mask=_CLONE_NEW),
        ),
        # event loops wake themselves by such a pair; a datagram socket, or an address to send to, would reach other processes
        "socketpair": (
            Condition(argument=0, values=(_AF_UNIX,)),
            Condition(argument=1, values=(_SOCK_STREAM,), mask=0xFFFFFFFF & ~_SOCK_FLAGS),
        ),
        "sendto": (Condition(argument=4, values=(0,)),),
    },
)
"""Permits computing, receiving the descriptors of documents, and the threads and the event loop of the reader of old office formats."""

TRANSFORMING: Final = Filter(allowed=(*COMPUTING.allowed, "alarm", "setitimer"), conditional=COMPUTING.conditional)
"""Permits computing, and setting an alarm."""

_LOCAL_SOCKETS: Final = (
    Condition(argument=0, values=(_AF_UNIX,)),
    Condition(argument=1, values=(_SOCK_STREAM, _SOCK_SEQPACKET), mask=0xFFFFFFFF & ~_SOCK_FLAGS),
)

RENDERING: Final = Filter(
    refused=(
        # makes calls that no filter sees
        *("io_uring_setup", "io_uring_enter", "io_uring_register"),
        *("ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp"),
        *("bpf", "perf_event_open", "userfaultfd", "add_key", "request_key", "keyctl", "open_by_handle_at", "setns"),
        *("mount", "umount2", "pivot_root", "move_mount", "open_tree", "fsopen", "fsmount", "mount_setattr"),
    ),
    conditional={
        # which its own processes use; a file system of its own holds no socket of others
        "socket": _LOCAL_SOCKETS,
        "socketpair": _LOCAL_SOCKETS,
    },
)
"""Refuses sockets of all networks, and what leads to other processes or into rarely used parts of the kernel.

For a browser, which has a filter of its own for the processes that run the scripts of pages.
"""


def assemble(rules: Filter, architecture: Architecture) -> bytes:
    """Returns the program of a filter. Shape: an array of ``struct sock_filter``."""
    # First the architecture: the same number is another call in another architecture's table.
    code = [_instruction(_LOAD, _OFFSET_ARCHITECTURE), _instruction(_JUMP_EQUAL, architecture.audit, 1, 0), _return(_KILL_PROCESS)]
    code.append(_instruction(_LOAD, _OFFSET_NUMBER))
    if architecture.has_x32:
        # Calls of the x32 ABI have the same architecture, and numbers with this bit.
        code += [_instruction(_JUMP_GREATER_EQUAL, X32_BIT, 0, 1), _return(_KILL_PROCESS)]
    for name in rules.allowed:
        if (number := architecture.numbers.get(name)) is not None:
            code += [_instruction(_JUMP_EQUAL, number, 0, 1), _return(_ALLOW)]
    for name in rules.refused:
        if (number := architecture.numbers.get(name)) is not None:
            code += [_instruction(_JUMP_EQUAL, number, 0, 1), _return(_ERRNO | errno.EPERM)]
    for name, conditions in rules.conditional.items():
        if (number := architecture.numbers.get(name)) is not None:
            # The block ends in ALLOW. Each condition that fails returns EPERM
            # inside the block, so the order of conditions does not matter.
            block = [*(part for condition in conditions for part in _compare(condition)), _return(_ALLOW)]
            code += [_instruction(_JUMP_EQUAL, number, 0, len(block)), *block]
    if rules.refused:
        code.append(_return(_ALLOW))
    else:
        code += [_instruction(_JUMP_EQUAL, architecture.numbers["clone3"], 0, 1), _return(_ERRNO | errno.ENOSYS)]
        code.append(_return(_ERRNO | errno.EPERM))
    return b"".join(code)


def _compare(condition: Condition) -> list[bytes]:
    """Returns instructions that continue if the condition holds, and otherwise refuse the call.

    Each half of the argument is compared by itself, because the machine works on 32 bits. Both architectures store the low half first.
    """
    offset = _OFFSET_ARGUMENTS + 8 * condition.argument
    low_mask, high_mask = condition.mask & 0xFFFFFFFF, condition.mask >> 32
    values = [value & 0xFFFFFFFF for value in condition.values]
    code = [_instruction(_LOAD, offset), _instruction(_AND, low_mask)]
    # if the last value does not match, control falls through to the refusal; any match jumps behind it
    code += [_instruction(_JUMP_EQUAL, value, len(values) - place, 0) for place, value in enumerate(values)]
    code.append(_return(_ERRNO | errno.EPERM))
    # The high half must be zero. Otherwise a value above 2^32 would pass by its low half.
    if high_mask:
        code += [_instruction(_LOAD, offset + 4), _instruction(_AND, high_mask), _instruction(_JUMP_EQUAL, 0, 1, 0)]
        code.append(_return(_ERRNO | errno.EPERM))
    return code


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return _INSTRUCTION.pack(code, if_true, if_false, value)


def _return(action: int) -> bytes:
    return _instruction(_RETURN, action)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def install(rules: Filter) -> None:
    """Filters the calls of this thread and those it starts, for good.

    Errors: OSError if the kernel or the architecture does not support it.
    """
    architecture = find_architecture()
    if architecture is None:
        raise OSError(errno.ENOSYS, "there is no table of system calls for this processor")
    code = assemble(rules, architecture)
    # Named, so that the memory lives until the call below, which passes only its address.
    held = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // _INSTRUCTION.size, ctypes.addressof(held))
    kernel.prctl(kernel.PR_SET_SECCOMP, _MODE_FILTER, ctypes.addressof(program))
