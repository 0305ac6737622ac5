"""Snakemake in forks of a process that has imported it, which it takes as long to do as to plan the
tiny study.

Nothing of scant is imported before the fork, so that it is the package of the folder that
PYTHONPATH names.
"""

import atexit
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path


def snakemake(
    arguments: list[str], folder: Path, environment: dict[str, str], timeout: int
) -> tuple[int, str]:
    """Run Snakemake in a folder, with this environment; its exit code, and what it printed."""
    with tempfile.NamedTemporaryFile("r") as printed:
        request = {"arguments": arguments, "folder": str(folder), "environment": environment}
        request |= {"timeout": timeout}
        server = _server()
        print(json.dumps(request | {"printed": printed.name}), file=server.stdin, flush=True)
        return int(server.stdout.readline()), printed.read()


@cache
def _server() -> subprocess.Popen:
    """The process that forks, which ends with this one."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    command = [sys.executable, "-P", __file__]
    server = subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(server.communicate)
    return server


def _serve() -> None:
    """Read requests, and answer each with the exit code of its fork.

    A fork returns as what it was asked to be.
    """
    import pandas  # noqa: F401
    import snakemake.cli  # noqa: F401
    from snakemake_interface_executor_plugins.registry import ExecutorPluginRegistry

    ExecutorPluginRegistry()  # imports those of a cluster
    for line in sys.stdin:
        if child := os.fork():
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        else:
            return _become(**json.loads(line))


def _become(arguments: list, folder: str, environment: dict, printed: str, timeout: int) -> None:
    signal.alarm(timeout)
    output, nothing = os.open(printed, os.O_WRONLY | os.O_APPEND), os.open(os.devnull, os.O_RDONLY)
    for target, source in enumerate((nothing, output, output)):
        os.dup2(source, target)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = [folder, *environment["PYTHONPATH"].split(os.pathsep)]
    sys.argv = ["snakemake", *arguments]
    runpy.run_module("snakemake", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _serve()
