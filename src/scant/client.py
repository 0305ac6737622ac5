"""The command `scant`. A job of the workflow is given to the process that serves jobs, where one
does (`scant.serving`), before anything is imported; every other command runs here.
"""

import _signal  # not `signal` and `socket`, which take as long to import as Python takes to start
import _socket
import os
import sys

ANSWER = 100  # bytes of the server's answer, at most
FORWARDED = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP)


def main() -> int:
    """Run one command, see `scant.cli.main`. Returns its exit status.

    A job of Snakemake ends with a line that says what it made, its processor time and its memory.
    """
    arguments, address = sys.argv[1:], os.environ.get("SCANT_SERVER")
    if arguments[:1] != ["job"]:
        from scant.cli import main

        return main()
    status, *used = (address and _served(address, arguments)) or _done_here()
    if not status and os.environ.get("SCANT_JOB"):  # Snakemake tells a job's number alone
        print(_made(arguments[arguments.index("--output") + 1 :], *used))
    return status


def request(arguments: list[str]) -> bytes:
    """The bytes that ask a server for a command: working folder, umask, number of arguments, the
    arguments, and the environment, separated by NUL.
    """
    os.umask(umask := os.umask(0o77))
    settings = [b"=".join(item) for item in os.environb.items()]
    words = os.getcwdb(), b"%d" % umask, b"%d" % len(arguments)  # noqa: PTH109  quicker to import
    return b"\0".join([*words, *map(os.fsencode, arguments), *settings])


def _served(address: str, arguments: list[str]) -> tuple[int, float, int] | None:
    """Have a job done by the server at this address.

    Returns its exit status (128 + the number of the signal that ended it, if one did), its
    processor time (s) and its memory (KiB). None if the job is to be done here: nobody serves it,
    or the server died, and the job with it, which leaves nothing half-written.
    """
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)

    def forward(number, frame):
        try:
            connection.send(bytes([number]))
        except OSError:
            raise SystemExit(128 + number) from None

    files = b"".join(file.to_bytes(4, sys.byteorder) for file in (0, 1, 2))
    before = {number: _signal.getsignal(number) for number in FORWARDED}
    try:
        connection.connect(address)
        connection.sendmsg([request(arguments)], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)])
        for number in FORWARDED:
            _signal.signal(number, forward)
        answer = connection.recv(ANSWER).split()
    except OSError:
        answer = []
    for number, handler in before.items():
        _signal.signal(number, handler)
    connection.close()
    return (int(answer[0]), float(answer[1]), int(answer[2])) if answer else None


def _done_here() -> tuple[int, float, int]:
    """Do the job of the command line. Returns what `_served` does."""
    import resource

    from scant.cli import main

    status, usage = main(), resource.getrusage(resource.RUSAGE_SELF)
    return status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def _made(outputs: list[str], seconds: float, memory: int) -> str:
    """The last line of a job's log; `memory` is in KiB."""
    more = f" and {len(outputs) - 1} more like it" if outputs[1:] else ""
    return f"made {outputs[0]}{more}: {seconds:.2f} s of processor, at most {memory // 1024} MB"
