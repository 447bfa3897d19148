"""System calls that Python's ``os`` lacks."""

import ctypes
import os

PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38

_libc = ctypes.CDLL(None, use_errno=True)


def prctl(option: int, first: int = 0, second: int | None = None) -> None:
    """Calls prctl(2). Shape: ``second`` may be an address. Errors: OSError."""
    # All four arguments are passed: the kernel refuses some options if an unused argument is not 0.
    _check_result(_libc.prctl(option, ctypes.c_ulong(first), ctypes.c_void_p(second), ctypes.c_ulong(0), ctypes.c_ulong(0)))


def syscall(number: int, *arguments: int | None) -> int:
    """Makes a system call by number and returns its result. Shape: None is a null pointer. Errors: OSError."""
    return _check_result(_libc.syscall(ctypes.c_long(number), *(ctypes.c_void_p(argument) for argument in arguments)))


def _check_result(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
