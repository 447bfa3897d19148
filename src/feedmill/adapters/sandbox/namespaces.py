"""Namespaces: a process gets a network without any device, its own processes, and a file system of chosen folders, read-only.

``enter`` works without privileges, in a user namespace. Many containers, and some distributions, permit none.
Source: user_namespaces(7), mount_namespaces(7), pivot_root(2).
"""

import ctypes
import errno
import os
from dataclasses import dataclass
from typing import Final

from feedmill.adapters.sandbox import kernel
from feedmill.adapters.sandbox.syscalls import find_architecture

NOBODY: Final = 65_534

_NEW_NAMESPACES: Final = 0x00020000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
"""CLONE_NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET."""
_READ_ONLY: Final = 0x1
_NO_SUID: Final = 0x2
_NO_DEVICES: Final = 0x4
_NO_PROGRAMS: Final = 0x8
_REMOUNT: Final = 0x20
_BIND: Final = 0x1000
_RECURSIVE: Final = 0x4000
_PRIVATE: Final = 0x40000
_DETACH: Final = 0x2
_ROOT: Final = "/tmp"  # noqa: S108  # only a place to mount on, in a mount namespace of its own
_DEVICES: Final = ("null", "zero", "full", "random", "urandom")
_ACCOUNT: Final = "nobody:x:65534:65534::/tmp:/bin/false\n"

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What a process sees of the file system: folders and files of the machine, and folders of its own in memory.

    Shape: what does not exist is left out. ``scratch`` are empty and may be written. Units: ``scratch_bytes`` for each of them.
    """

    shown: tuple[str, ...]
    scratch: tuple[str, ...] = ("/tmp", "/dev/shm")  # noqa: S108  # in memory, for this process alone
    scratch_bytes: int = 64_000_000


def become_nobody() -> None:
    """Drops the privileges of root, for good; another user has none to drop. Errors: OSError."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    # after a change of the user, the files of this process in /proc belong to root, unless it may be traced
    kernel.prctl(kernel.PR_SET_DUMPABLE, 1)


def enter() -> None:
    """Moves this process into namespaces of its own; processes that it forks are in them with the first as number 1. Errors: OSError.

    The process must have one thread.
    """
    user, group = os.geteuid(), os.getegid()
    if _libc.unshare(_NEW_NAMESPACES) < 0:
        raise _last_error("unshare")
    # without this the kernel accepts no groups of an unprivileged process
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{NOBODY} {user} 1")
    _write("/proc/self/gid_map", f"{NOBODY} {group} 1")


def show_only(view: View) -> None:
    """Replaces the file system of this process, which has entered namespaces and is number 1 there. Errors: OSError."""
    _mount(None, "/", None, _RECURSIVE | _PRIVATE)
    _mount("tmpfs", _ROOT, "tmpfs", _NO_SUID, "size=1000000,mode=755")
    for path in view.shown:
        _show(path)
    for name in _DEVICES:
        _bind(f"/dev/{name}", is_device=True)
    for path in view.scratch:
        _make_folder(path)
        _mount("tmpfs", _ROOT + path, "tmpfs", _NO_SUID | _NO_DEVICES, f"size={view.scratch_bytes},mode=700")
    _make_folder("/proc")
    _mount("proc", _ROOT + "/proc", "proc", _NO_SUID | _NO_DEVICES | _NO_PROGRAMS)
    _make_folder("/etc")
    _write(f"{_ROOT}/etc/passwd", _ACCOUNT)
    _change_root()
    _mount(None, "/", None, _BIND | _REMOUNT | _READ_ONLY | _NO_SUID)


def _show(path: str) -> None:
    """Shows a path of the machine, read-only; a link stays a link."""
    if not os.path.lexists(path):
        return
    if os.path.islink(path):
        _make_folder(os.path.dirname(path))
        os.symlink(os.readlink(path), _ROOT + path)
        return
    _bind(path)


def _bind(path: str, *, is_device: bool = False) -> None:
    if os.path.isdir(path):
        _make_folder(path)
    else:
        _make_folder(os.path.dirname(path))
        _write(_ROOT + path, "")
    _mount(path, _ROOT + path, None, _BIND | _RECURSIVE)
    # in a user namespace, the flags of a mount cannot be cleared
    flags = os.statvfs(_ROOT + path).f_flag & (_NO_SUID | _NO_DEVICES | _NO_PROGRAMS | os.ST_NOATIME | os.ST_RELATIME | os.ST_NODIRATIME)
    if not is_device:
        _mount(None, _ROOT + path, None, _BIND | _REMOUNT | _READ_ONLY | _NO_SUID | _translate_flags(flags))


def _translate_flags(flags: int) -> int:
    """Returns flags of statvfs(3) as flags of mount(2), which differ for access times."""
    translated = flags & (_NO_SUID | _NO_DEVICES | _NO_PROGRAMS)
    for found, flag in ((os.ST_NOATIME, 0x400), (os.ST_NODIRATIME, 0x800), (os.ST_RELATIME, 0x200000)):
        translated |= flag if flags & found else 0
    return translated


def _make_folder(path: str) -> None:
    os.makedirs(_ROOT + path, mode=0o755, exist_ok=True)


def _change_root() -> None:
    architecture = find_architecture()
    if architecture is None:
        raise OSError(errno.ENOSYS, "there is no table of system calls for this processor")
    os.chdir(_ROOT)
    here = ctypes.create_string_buffer(b".")
    # the old root is mounted above the new one, and taken away from there
    kernel.syscall(architecture.numbers["pivot_root"], ctypes.addressof(here), ctypes.addressof(here))
    if _libc.umount2(b".", _DETACH) < 0:
        raise _last_error("umount of the old root")
    os.chdir("/")


def _write(path: str, text: str) -> None:
    # no module may be loaded any more: the user of this process may be unable to read them
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o444)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    encoded = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    if _libc.mount(encoded[0], encoded[1], encoded[2], ctypes.c_ulong(flags), encoded[3]) < 0:
        raise _last_error(f"mount of {target.removeprefix(_ROOT) or '/'}")


def _last_error(what: str) -> OSError:
    code = ctypes.get_errno()
    return OSError(code, f"{what}: {os.strerror(code)}")
