"""Jobs that a server forks end as jobs that start on their own do."""

import os
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import scant
from scant import serving
from scant.page import about

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="jobs are forked on Linux alone")

# A server whose jobs are Python, so that they can end in any way.
SERVER = """
import sys
from scant import cli, serving
serving.load = lambda: True
cli.main = lambda arguments: exec(arguments[1], {}) or 0
sys.exit(serving.main())
"""
SOURCE = {"PYTHONPATH": str(Path(scant.__file__).parents[1])}
# what a job of the real command says of such arguments, where nobody serves it
UNSERVED = "the following arguments are required: --study"


def waited(condition):
    """The first true value of a condition, which comes."""
    for _ in range(3000):
        if value := condition():
            return value
        time.sleep(0.01)
    raise AssertionError("it does not come")


class Served:
    """A server, and clients that ask it."""

    def __init__(self, folder: Path):
        self.folder, self.address = folder, folder / "private" / "jobs"
        self.address.parent.mkdir(mode=0o700)
        self.environment = os.environ | SOURCE | {serving.ADDRESS: str(self.address)}
        self.environment["SCANT_JOB"] = "1"
        self.server = subprocess.Popen(
            [sys.executable, "-c", SERVER, self.address],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            cwd=folder,
            env=self.environment,
            start_new_session=True,
        )
        waited(self.address.exists)

    def ask(self, code, **options):
        """Start a client whose job runs some code."""
        command = [sys.executable, "-m", "scant", "job", code, "--output", "made.txt"]
        options = {"cwd": self.folder, "env": self.environment} | options
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(command, **pipes | options)

    def tell(self, code, **options):
        """The exit status of a job, and what it and its client wrote."""
        client = self.ask(code, **options)
        return (*client.communicate(timeout=60)[::-1], client.returncode)[::-1]

    def started(self, code, **options):
        """A client whose job has started, and the job's process number.

        code : it may say where it has started, by `started()`
        """
        mark = self.folder / "started"
        mark.unlink(missing_ok=True)
        begin = "import os, signal, time; from pathlib import Path\n"
        begin += "def started():\n"
        begin += f"  Path('new').write_text(str(os.getpid())); Path('new').rename({str(mark)!r})\n"
        begin += "" if "started()" in code else "started()\n"
        client = self.ask(begin + code, **options)
        waited(mark.exists)
        return client, int(mark.read_text())

    def end(self):
        self.server.stdin.close()
        self.server.wait(60)


@pytest.fixture
def served(tmp_path):
    served = Served(tmp_path)
    yield served
    served.server.kill()
    served.server.wait()


def is_alive(process: int) -> bool:
    """Whether a process is there and is no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize(
    ("code", "status", "says"),
    [
        ("print('done')", 0, ""),
        ("raise SystemExit(3)", 3, ""),
        ("raise SystemExit('no')", 1, "no\n"),
        ("raise ValueError('bad')", 1, "ValueError: bad\n"),
        ("import os; os.kill(os.getpid(), 9)", 137, ""),
        ("import os; os.kill(os.getpid(), 7)", 135, ""),
        ("import os; os._exit(5)", 5, ""),
    ],
)
def test_a_job_ends_as_it_would_on_its_own(served, code, status, says):
    """Of a signal, the status is what a shell has of it."""
    ended, written, complained = served.tell(code)
    assert ended == status and complained.endswith(says)
    assert ("made made.txt" in written) == (status == 0)
    assert served.tell("print('the server goes on')")[0] == 0


def test_a_job_has_its_clients_files_folder_arguments_and_environment(served):
    code = "import os, sys; print(os.getcwd(), os.environ['TMPDIR'], sys.argv[3:], input())\n"
    code += "import tempfile; print(tempfile.gettempdir()); print('to err', file=sys.stderr)"
    place = served.folder / "tmp"
    place.mkdir()
    with open(served.folder / "in", "w+") as file:
        file.write("read\n")
        file.seek(0)
        environment = served.environment | {"TMPDIR": str(place)}
        status, written, complained = served.tell(code, env=environment, stdin=file)
    assert (status, complained) == (0, "to err\n")
    first, second, _ = written.splitlines()
    assert second == str(place)
    assert first == f"{served.folder} {place} ['--output', 'made.txt'] read"


@pytest.mark.parametrize(
    "other",
    [
        {"env": {"LC_ALL": "C"}},
        {"env": {"OMP_NUM_THREADS": "2"}},
        {"cwd": "/"},
        {"umask": 0o27},
    ],
)
def test_a_job_that_differs_in_what_is_read_at_a_start_starts_on_its_own(served, other):
    options = other | ({"env": served.environment | other["env"]} if "env" in other else {})
    status, _, complained = served.tell("print()", **options)
    assert status == 2 and UNSERVED in complained


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_to_the_client_reaches_the_job_which_may_tidy_up(served, number):
    code = f"signal.signal({int(number)}, lambda *_: 1 / 0)\n"
    code += "try:\n    started()\n    time.sleep(60)\nfinally:\n    print('tidied')"
    client, job = served.started(code)
    client.send_signal(number)
    written, complained = client.communicate(timeout=60)
    assert "tidied" in written and "ZeroDivisionError" in complained and client.returncode == 1
    assert not is_alive(job)


def test_ctrl_c_interrupts_a_job_as_it_does_python(served):
    client, _ = served.started("time.sleep(60)")
    client.send_signal(signal.SIGINT)
    assert client.communicate(timeout=60)[1].endswith("KeyboardInterrupt\n")
    assert client.returncode == 128 + signal.SIGINT


def test_the_job_of_a_killed_client_is_killed(served):
    client, job = served.started("signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)")
    client.kill()
    waited(lambda: not is_alive(job))
    assert served.tell("print('the server goes on')")[0] == 0


def test_jobs_of_a_server_that_is_killed_die_and_are_done_by_their_clients(served):
    client, job = served.started("time.sleep(60)")
    served.server.kill()
    _, complained = client.communicate(timeout=60)
    assert not is_alive(job) and UNSERVED in complained


def test_a_server_whose_snakemake_has_ended_waits_for_its_jobs_and_goes(served):
    client, _ = served.started("time.sleep(1); print('whole')")
    served.server.stdin.close()
    assert "whole" in client.communicate(timeout=60)[0] and client.returncode == 0
    assert served.server.wait(60) == 0 and not served.address.parent.exists()
    assert UNSERVED in served.tell("print()")[2]


def test_a_job_that_writes_to_a_closed_pipe(served):
    """As Python's own end has it: status 120."""
    read, write = os.pipe()
    os.close(read)
    client = served.ask("print('x')", stdout=write)
    os.close(write)
    assert "BrokenPipeError" in client.communicate(timeout=60)[1] and client.returncode == 120


def test_two_hundred_jobs_at_once(served):
    clients = [served.ask(f"import time; time.sleep(1); print({number})") for number in range(200)]
    for number, client in enumerate(clients):
        written, complained = client.communicate(timeout=300)
        assert (client.returncode, complained) == (0, "")
        assert written.splitlines()[0] == f"{number}"


def test_what_is_no_request_is_not_answered(served):
    for content, files in ((b"", []), (b"nonsense", []), (b"a\0b\0c", [0, 1, 2]), (b"\0" * 9, [0])):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
            connection.connect(str(served.address))
            socket.send_fds(connection, [content], files)
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(10) == b""
    assert served.tell("print('the server goes on')")[0] == 0


def test_memory_is_the_jobs_own_and_reaches_the_page(served):
    status, written, _ = served.tell("b = bytearray(300 << 20)")
    assert status == 0
    for folder, text in (("logs", written), ("benchmarks", '{"s": 2, "rule_name": "run"}')):
        file = served.folder / folder / "run" / f"a.{'log' if folder == 'logs' else 'jsonl'}"
        file.parent.mkdir(parents=True)
        file.write_text(text)
    (row,) = about.timings(served.folder)
    assert 300 <= row["memory"] < 500 and row["seconds"] == 2


def workflow(jobs=1000, local=True, inside=()):
    deployed = SimpleNamespace(deployment_method=set(inside))
    return SimpleNamespace(local_exec=local, dag=range(jobs), deployment_settings=deployed)


@pytest.mark.parametrize(
    "other", [{"jobs": serving.FEW}, {"local": False}, {"inside": ["apptainer"]}]
)
def test_nobody_serves_few_jobs_nor_those_that_run_elsewhere(other, monkeypatch):
    monkeypatch.delenv(serving.ADDRESS, raising=False)
    monkeypatch.setattr(serving.subprocess, "Popen", None)
    serving.start(workflow(**other))
    assert serving.ADDRESS not in os.environ


STARTED = """
import os, sys, time
from pathlib import Path
from types import SimpleNamespace
from scant import serving
deployed = SimpleNamespace(deployment_method=set())
serving.start(SimpleNamespace(local_exec=True, dag=range(99), deployment_settings=deployed))
address = Path(os.environ["SCANT_SERVER"])
while address.parent.exists() and not address.exists():
    time.sleep(0.05)
print(address, oct(address.parent.stat().st_mode) if address.exists() else "")
"""


def started(place: Path) -> tuple[str, str, str]:
    """The real server's socket, the mode of its folder, and what it said; its starter has ended."""
    variables = os.environ | SOURCE | {"TMPDIR": str(place)}
    variables.pop(serving.ADDRESS, None)
    command = [sys.executable, "-c", STARTED]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300)
    address, _, mode = done.stdout.strip().partition(" ")
    waited(lambda: not Path(address).parent.exists())
    return address, mode, done.stderr


def test_the_real_server_forks_no_threads_and_nobody_else_can_ask_it(tmp_path):
    address, mode, complained = started(tmp_path)
    assert stat.S_IMODE(int(mode, 8)) == 0o700 and Path(address).is_relative_to(tmp_path)
    assert complained == ""


def test_without_a_socket_that_is_said_once_and_jobs_start_on_their_own(tmp_path):
    deep = tmp_path / ("long" * 30)
    deep.mkdir()
    _, mode, complained = started(deep)
    assert not mode and complained.count("jobs start on their own") == 1
    assert "path too long" in complained
