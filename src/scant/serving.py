"""A process that has loaded what jobs need, and from which each job of this machine is forked.

A job that starts on its own imports Numba, Arrow and others, and loads compiled loops, which takes
longer than most jobs. A forked job has them. It is a process of its own all the same: it has the
standard files of its client (`scant.client`), fails alone, and is killed alone.

The server ends with the Snakemake that started it, once its jobs have ended. It has one thread,
since other threads do not survive a fork.
"""

import ctypes
import gc
import importlib
import os
import select
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path

from scant.client import request

ADDRESS = "SCANT_SERVER"  # names the socket for jobs; where it is set already, nobody is started
FEW = 20  # jobs that start on their own in less time than a server takes to load
LARGEST = 1 << 18  # bytes of a request: more do not pass through a socket as one message

# libraries that Snakemake has use one thread in a job of one
ONE_THREAD = ("OMP", "GOTO", "OPENBLAS", "MKL", "NUMEXPR")
ARROW = "JE_ARROW_MALLOC_CONF"  # settings of Arrow's jemalloc, which else starts a thread

# A job may have other values of these than the server: those that Snakemake, or a shell, gives it.
FREE = {ARROW, "TMPDIR", "TMP", "TEMP", "TEMPDIR", "PATH", "PWD", "OLDPWD", "SHLVL", "_"}
# what functions of this project import when they are called
PACKAGES = ("jinja2", "matplotlib.pyplot", "pandas", "pyarrow.parquet", "scipy.optimize")
PR_SET_PDEATHSIG = 1  # of prctl: the signal that a process gets when its parent dies


def start(workflow) -> None:
    """Start a server for the jobs of a run of Snakemake, and name its socket in their environment.

    Nothing is started for a few jobs; nor where jobs run on a cluster or in a container, or on
    another system than Linux, which tells how a forked process ends.

    workflow : Snakemake's, with the plan of the run
    """
    elsewhere = not workflow.local_exec or workflow.deployment_settings.deployment_method
    if elsewhere or len(workflow.dag) <= FEW or sys.platform != "linux" or ADDRESS in os.environ:
        return
    # only its owner may enter this folder
    address = os.environ[ADDRESS] = str(Path(tempfile.mkdtemp(prefix="scant-"), "jobs"))
    threads = {f"{library}_NUM_THREADS": "1" for library in ONE_THREAD}
    environment = os.environ | threads | {"VECLIB_MAXIMUM_THREADS": "1", "SCANT_JOB": "1"}
    environment[ARROW] = "background_thread:false"
    # this process never closes the other end: it is closed when the process ends, however it does
    waiting, _ = os.pipe()
    subprocess.Popen(
        [sys.executable, "-P", "-m", "scant.serving", address],
        stdin=waiting,
        stdout=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,  # Ctrl-C is for the clients, which forward it
    )
    os.close(waiting)


def load() -> bool:
    """Import what jobs import, and load the compiled loops. False, before it is done, if the
    Snakemake that started this process has ended.
    """
    from scant import kernels
    from scant.study import code

    for name in [*PACKAGES, *code.closure("scant.jobs")]:
        importlib.import_module(name)
        if select.select([0], [], [], 0)[0]:
            return False
    kernels.load()
    gc.collect()
    gc.freeze()  # or looking for garbage would write to, and so copy, what jobs share
    return True


class Server:
    """Forks jobs for clients; see `serve`.

    own : the bytes that `client.request` makes for this process; jobs must have the same folder,
        umask and environment
    """

    def __init__(self, listening: socket.socket, own: bytes):
        self.listening, self.jobs = listening, 0
        self.folder, self.umask, _, *settings = own.split(b"\0")
        self.settings = self._fixed(settings)
        self.selector = selectors.DefaultSelector()
        self._when_readable(listening, self._accept)
        self._when_readable(0, self._close)

    def serve(self) -> list[str] | None:
        """Serve until standard input and all jobs have ended, and return None; in each forked job,
        return its arguments.
        """
        while self.listening or self.jobs:
            for key, _ in self.selector.select():
                if arguments := key.data():
                    return arguments
        return None

    def _when_readable(self, file, act) -> None:
        self.selector.register(file, selectors.EVENT_READ, act)

    def _close(self) -> None:
        for file in (0, self.listening):
            self.selector.unregister(file)
        self.listening.close()
        self.listening = None

    def _accept(self) -> None:
        with suppress(OSError):
            connection, _ = self.listening.accept()
            self._when_readable(connection, partial(self._request, connection))

    def _request(self, connection: socket.socket) -> list[str] | None:
        """Fork the job of a client; in the job, return its arguments. If it cannot be forked, close
        the connection: then the client does the job itself.
        """
        self.selector.unregister(connection)
        files, parent = [], os.getpid()
        with suppress(OSError, ValueError):
            content, files, *_ = socket.recv_fds(connection, LARGEST, 3)
            folder, umask, count, *words = content.split(b"\0")
            arguments, settings = words[: int(count)], words[int(count) :]
            same = (folder, umask) == (self.folder, self.umask)
            if same and self._fixed(settings) == self.settings and len(files) == 3:
                child = os.fork()
                if not child:
                    _enter(parent, files, settings)
                    return list(map(os.fsdecode, arguments))
                self._watch(child, connection)
                connection = None
        for file in files:
            os.close(file)
        if connection:
            connection.close()
        return None

    def _watch(self, child: int, connection: socket.socket) -> None:
        try:
            watched = os.pidfd_open(child)
        except OSError:  # too many open files
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise
        self.jobs += 1
        self._when_readable(watched, partial(self._ended, child, watched, connection))
        self._when_readable(connection, partial(self._signal, child, connection))

    def _signal(self, child: int, connection: socket.socket) -> None:
        """Give a job the signal that its client got; if the client was killed, kill the job."""
        with suppress(OSError):  # the job has ended
            number = connection.recv(1)
            os.kill(child, number[0] if number else signal.SIGKILL)
            if not number:
                self.selector.unregister(connection)

    def _ended(self, child: int, watched: int, connection: socket.socket) -> None:
        """Tell a client how its job ended, its processor time (s) and its memory (KiB)."""
        _, status, usage = os.wait4(child, 0)
        code = os.waitstatus_to_exitcode(status)
        code = code if code >= 0 else 128 - code
        self.jobs -= 1
        with suppress(KeyError):  # the client is gone
            self.selector.unregister(connection)
        self.selector.unregister(watched)
        os.close(watched)
        with suppress(OSError):
            connection.send(b"%d %f %d" % (code, usage.ru_utime + usage.ru_stime, usage.ru_maxrss))
        connection.close()

    @staticmethod
    def _fixed(settings: list[bytes]) -> list[bytes]:
        """The variables, as NAME=VALUE, that a job must share with the server, since libraries
        read them when they are loaded.
        """
        return sorted(one for one in settings if os.fsdecode(one.partition(b"=")[0]) not in FREE)


def _enter(parent: int, files: list[int], settings: list[bytes]) -> None:
    """Make a forked process the job of its client, with its standard files and environment.

    It dies with the server, process `parent`. Its copy of the connection stays open until then, so
    that the client notices.
    """
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    for name, number, buffering in (("stdout", 1, -1), ("stderr", 2, 1)):
        old = getattr(sys, name)
        like = {"encoding": old.encoding, "errors": old.errors, "closefd": False}
        setattr(sys, name, open(number, "w", buffering, **like))  # noqa: SIM115  of the whole job
    os.environ.clear()
    os.environb.update(one.split(b"=", 1) for one in settings)
    tempfile.tempdir = None  # it may have another one


def _listening(address: str) -> socket.socket:
    """A socket at a path, listening.

    Raises
    ------
    OSError : there can be none, or this process cannot serve
    """
    if len([*Path("/proc/self/task").iterdir()]) > 1:
        raise OSError("a library has started threads, which do not survive a fork")
    os.close(os.pidfd_open(os.getpid()))  # Linux has it since 5.3
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind(address)
    listening.listen(socket.SOMAXCONN)
    return listening


def main() -> int:
    """Serve jobs: `python -m scant.serving SOCKET`. In a forked job, do it, return its status."""
    address, own, arguments = sys.argv[1], request([]), None  # before libraries add variables
    if load():
        try:
            arguments = Server(_listening(address), own).serve()
        except OSError as error:
            print(f"scant: jobs start on their own, which takes longer: {error}", file=sys.stderr)
    if not arguments:
        shutil.rmtree(Path(address).parent)
        return 0
    from scant.cli import main

    sys.argv[1:] = arguments
    status = main(arguments)
    with suppress(OSError):  # else the interpreter says so as it ends
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)  # the interpreter's own end would write to, and so copy, all objects
    return status


if __name__ == "__main__":
    sys.exit(main())
