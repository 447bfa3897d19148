"""What hostile code tries from inside a worker. Each attempt returns what it got, or raises when it is refused.

It runs under the real sandbox, so that whatever it needs beyond the C library is loaded before.
"""

import ctypes
import errno
import fcntl
import mmap
import os
import platform
import resource
import signal
import socket
from collections.abc import Callable
from typing import Any, TypedDict

MARK = b"X-Intruder: "


class Victims(TypedDict):
    """What the code knows of its surroundings: files, processes, ports and sockets of a server."""

    secrets: list[str]
    folder: str
    processes: list[int]
    port: int
    notifier: str


SECCOMP, LANDLOCK = "seccomp", "landlock"

_TABLES = {
    "x86_64": """
        ptrace=101 process_vm_readv=310 process_vm_writev=311 vfork=58 clone=56 clone3=435 execveat=322 tgkill=234 tkill=200
        rt_sigqueueinfo=129 pidfd_open=434 pidfd_send_signal=424 pidfd_getfd=438 io_uring_setup=425 keyctl=250 add_key=248
        request_key=249 bpf=321 perf_event_open=298 userfaultfd=323 mount=165 umount2=166 unshare=272 setns=308
        open_by_handle_at=304 name_to_handle_at=303 personality=135 openat2=437 memfd_create=319 shmget=29 msgget=68
        semget=64 mq_open=240 inotify_init1=294 fanotify_init=300 init_module=175 kexec_load=246 chroot=161 setuid=105 capset=126
        quotactl=179 sched_setaffinity=203 setpriority=141 prlimit64=302 kcmp=312 process_madvise=440 timer_create=222 sendmsg=46
        accept4=288 listen=50 bind=49 connect=42 socket=41 fchmodat=268 fchownat=260 utimensat=280 getdents64=217 readlinkat=267
        statx=332 newfstatat=262 landlock_create_ruleset=444 seccomp=317 splice=275 sendfile=40 memfd_secret=447 syslog=103
        pivot_root=155 reboot=169 swapon=167 acct=163 settimeofday=164 mlockall=151 remap_file_pages=216 get_robust_list=274
    """,
    "aarch64": """
        ptrace=117 process_vm_readv=270 process_vm_writev=271 clone=220 clone3=435 execveat=281 tgkill=131 tkill=130
        rt_sigqueueinfo=138 pidfd_open=434 pidfd_send_signal=424 pidfd_getfd=438 io_uring_setup=425 keyctl=219 add_key=217
        request_key=218 bpf=280 perf_event_open=241 userfaultfd=282 mount=40 umount2=39 unshare=97 setns=268
        open_by_handle_at=265 name_to_handle_at=264 personality=92 openat2=437 memfd_create=279 shmget=194 msgget=186
        semget=190 mq_open=180 inotify_init1=26 fanotify_init=262 init_module=105 kexec_load=104 chroot=51 setuid=146 capset=91
        quotactl=60 sched_setaffinity=122 setpriority=140 prlimit64=261 kcmp=272 process_madvise=440 timer_create=107 sendmsg=211
        accept4=242 listen=201 bind=200 connect=203 socket=198 fchmodat=53 fchownat=54 utimensat=88 getdents64=61 readlinkat=78
        statx=291 newfstatat=79 landlock_create_ruleset=444 seccomp=277 splice=76 sendfile=71 memfd_secret=447 syslog=116
        pivot_root=41 reboot=142 swapon=224 acct=89 settimeofday=170 mlockall=230 remap_file_pages=234 get_robust_list=100
    """,
}  # fmt: skip

NUMBERS = {machine: {pair.split("=")[0]: int(pair.split("=")[1]) for pair in table.split()} for machine, table in _TABLES.items()}

_libc = ctypes.CDLL(None, use_errno=True)
_buffer = ctypes.create_string_buffer(4096)


def call(name: str, *arguments: int | None) -> int:
    """Calls the kernel by number. Errors: OSError."""
    numbers = NUMBERS[platform.machine()]
    if name not in numbers:
        raise OSError(errno.ENOSYS, "this processor has no such call")
    result = int(_libc.syscall(ctypes.c_long(numbers[name]), *(ctypes.c_void_p(argument) for argument in arguments)))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def read(path: str) -> str:
    """Opens a file and returns the beginning of it."""
    descriptor = os.open(path, os.O_RDONLY)
    return repr(os.read(descriptor, 16))


def make_file(path: str) -> str:
    """Makes a file."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    return "made"


def fork() -> str:
    """Forks."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return "forked"


def execute() -> str:
    """Executes a program in the place of this one, which ends it."""
    os.execv("/bin/true", ["true"])


def execute_memory() -> str:
    """Executes a program that is in memory alone."""
    descriptor = os.memfd_create("x")
    os.write(descriptor, b"#!/bin/true\n")
    os.execve(descriptor, ["x"], {})


def connect(family: int, kind: int, address: Any) -> str:
    """Opens a socket and connects it."""
    with socket.socket(family, kind) as opened:
        opened.connect(address)
    return "connected"


def notify(path: str) -> str:
    """Sends a datagram by a socket that came as one of a pair."""
    first, second = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with first, second:
        first.sendto(b"x", path)
    return "sent"


def own_signals(pid: int) -> str:
    """Has the kernel send a signal to another process for a descriptor of ours."""
    fcntl.fcntl(0, fcntl.F_SETOWN, pid)
    return "set"


def execute_pages() -> str:
    """Makes memory executable."""
    mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    return "made"


def raise_limits() -> str:
    """Raises a bound."""
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1, 1))
    except ValueError as exc:
        raise PermissionError(errno.EPERM, "not allowed") from exc
    return "raised"


def _list_attempts(victims: Victims) -> dict[str, tuple[Callable[[], object], tuple[str, ...]]]:
    """Returns the attempts by name, and which parts of a sandbox refuse each, every one of them alone."""
    parent, folder = os.getppid(), victims["folder"]
    files, calls = (SECCOMP, LANDLOCK), (SECCOMP,)
    found: dict[str, tuple[Callable[[], object], tuple[str, ...]]] = {}
    for place, path in enumerate(victims["secrets"]):
        found[f"read secret {place}"] = (lambda path=path: read(path), files)  # type: ignore[misc]
    for name, pid in [("parent", parent), *((f"process {n}", pid) for n, pid in enumerate(victims["processes"]))]:
        for part in ("mem", "environ", "maps", "cmdline"):
            found[f"read {part} of {name}"] = (lambda pid=pid, part=part: read(f"/proc/{pid}/{part}"), files)  # type: ignore[misc]
        found[f"signal {name}"] = (lambda pid=pid: os.kill(pid, 0), calls)  # type: ignore[misc]
        found[f"kill {name}"] = (lambda pid=pid: os.kill(pid, signal.SIGCONT), calls)  # type: ignore[misc]
        found[f"tgkill {name}"] = (lambda pid=pid: call("tgkill", pid, pid, 0), calls)  # type: ignore[misc]
        found[f"tkill {name}"] = (lambda pid=pid: call("tkill", pid, 0), calls)  # type: ignore[misc]
        found[f"ptrace {name}"] = (lambda pid=pid: call("ptrace", 0x4206, pid, 0, 0), calls)  # type: ignore[misc]
        found[f"own signals of {name}"] = (lambda pid=pid: own_signals(pid), calls)  # type: ignore[misc]
        found[f"pidfd of {name}"] = (lambda pid=pid: call("pidfd_open", pid, 0), calls)  # type: ignore[misc]
        found[f"bounds of {name}"] = (lambda pid=pid: call("prlimit64", pid, 7, None, ctypes.addressof(_buffer)), calls)  # type: ignore[misc]
    found |= {
        "read /etc/passwd": (lambda: read("/etc/passwd"), files),
        "read own environment": (lambda: read("/proc/self/environ"), files),
        "list a folder": (lambda: os.listdir(folder), files),
        "look at a file": (lambda: os.stat("/etc/passwd"), calls),
        "look whether a file is there": (lambda: os.stat("/nothing/there"), calls),
        "make a file in the data folder": (lambda: make_file(f"{folder}/intruder"), files),
        "make a file in /tmp": (lambda: make_file("/tmp/feedmill-intruder"), files),
        "make a folder": (lambda: os.mkdir(f"{folder}/intruder.d"), files),
        "write into a file": (lambda: os.open(victims["secrets"][0], os.O_WRONLY), files),
        "remove a file": (lambda: os.unlink(f"{folder}/run.json"), files),
        "rename a file": (lambda: os.rename(f"{folder}/run.json", f"{folder}/run.json.old"), files),
        "change a mode": (lambda: os.chmod(victims["secrets"][0], 0o600), calls),
        "make a link": (lambda: os.symlink("/etc/passwd", f"{folder}/intruder.l"), files),
        "make a named pipe": (lambda: os.mkfifo(f"{folder}/intruder.p"), files),
        "change the folder": (lambda: os.chdir("/"), calls),
        "fork": (fork, calls),
        "clone": (lambda: call("clone", signal.SIGCHLD, 0, 0, 0, 0), calls),
        "execute": (execute, calls),
        "execute from memory": (execute_memory, calls),
        "make memory executable": (execute_pages, calls),
        "open a TCP socket": (lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM), calls),
        "open a TCP socket of version 6": (lambda: socket.socket(socket.AF_INET6, socket.SOCK_STREAM), calls),
        "open a UDP socket": (lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM), calls),
        "open a Unix socket": (lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), calls),
        "open a netlink socket": (lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW), calls),
        "connect to the gate": (lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", victims["port"])), files),
        "connect to an abstract socket": (lambda: connect(socket.AF_UNIX, socket.SOCK_DGRAM, "\0" + victims["notifier"]), calls),
        "listen": (lambda: socket.create_server(("127.0.0.1", 0)), files),
        "write to the notifier": (lambda: notify("\0" + victims["notifier"]), calls),
        "raise bounds": (raise_limits, calls),
    }  # fmt: skip
    address = ctypes.addressof(_buffer)
    arguments: dict[str, tuple[int | None, ...]] = {
        "process_vm_readv": (parent, address, 1, address, 1, 0),
        "process_vm_writev": (parent, address, 1, address, 1, 0),
        "keyctl": (0, -3, 1),
        "unshare": (0x10000000,),
        "personality": (0x0040000,),
        "io_uring_setup": (4, address),
        "memfd_create": (address, 0),
        "userfaultfd": (1,),
        "setuid": (os.getuid(),),
        "shmget": (0, 4096, 0o1600),
        "msgget": (0, 0o1600),
        "semget": (0, 1, 0o1600),
        "mlockall": (1,),
    }
    own = {"ptrace", "tgkill", "tkill", "pidfd_open", "prlimit64", "clone"}
    for name in NUMBERS[platform.machine()].keys() - own:
        found[f"call {name}"] = (lambda name=name: call(name, *arguments.get(name, (-1, address, 0, 0, 0))), calls)  # type: ignore[misc]
    return found


HARMLESS = ("read", "list a folder", "fork", "make memory", "open", "connect", "write to the notifier", "signal", "call memfd_create")


def attempt_all(victims: Victims, *, harmless: bool = False) -> dict[str, dict[str, object]]:
    """Tries everything and returns by name what came of it and which parts of a sandbox should refuse it.

    Shape: ``code`` is the number of the error that refused it, None when it went through, whose result stands in ``result``; ``harmless``
    tries what is harmless where nothing refuses it.
    """
    results: dict[str, dict[str, object]] = {}
    for name, (attempt, parts) in _list_attempts(victims).items():
        if harmless and not name.startswith(HARMLESS):
            continue
        code, result = None, ""
        try:
            result = repr(attempt())
        except OSError as exc:
            code = exc.errno
        results[name] = {"code": code, "result": result, "parts": parts}
    return results
