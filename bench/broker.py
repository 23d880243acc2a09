"""Starts and stops one Mosquitto on loopback: the system's, or that of an unpacked root run by its own loader."""

import ctypes
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

MULTIARCH = "x86_64-linux-gnu"
START_LIMIT_S = 5
STOP_LIMIT_S = 10
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


class BrokerError(Exception):
    """The broker could not be found or started; the message holds what it said."""


class Installation:
    """A Mosquitto to run. `root` None: the one in PATH."""

    def __init__(self, root=None):
        self.root = pathlib.Path(root).resolve() if root else None
        if self.root:
            libraries = f"{self.root}/usr/lib/{MULTIARCH}:{self.root}/lib/{MULTIARCH}"
            loader = self.root / "lib64/ld-linux-x86-64.so.2"
            self.command = [str(loader), "--library-path", libraries, str(self.root / "usr/sbin/mosquitto")]
        else:
            self.command = [_find_in_path("mosquitto")]
        self.version = self._version()

    def cmake_arguments(self):
        """What makes the build of the plugin take this installation's headers and library."""
        if not self.root:
            return []
        return [
            f"-DMosquitto_INCLUDE_DIR={self.root}/usr/include",
            f"-DMosquitto_LIBRARY={self.root}/usr/lib/{MULTIARCH}/libmosquitto.so",
        ]

    def _version(self):
        try:
            # -h exits with an error in some versions: only what it says counts.
            said = subprocess.run([*self.command, "-h"], capture_output=True, text=True, check=False, timeout=10)
        except OSError as error:
            raise BrokerError(f"cannot run {self.command[0]}: {error}") from error
        found = re.search(r"mosquitto version (\S+)", said.stdout + said.stderr)
        if not found:
            raise BrokerError(f"{' '.join(self.command)} -h names no version: {said.stdout}{said.stderr}")
        return found.group(1)


def _find_in_path(name):
    for folder in [*os.environ.get("PATH", "").split(":"), "/usr/sbin", "/usr/local/sbin"]:
        candidate = pathlib.Path(folder) / name
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return str(candidate)
    raise BrokerError(f"{name} is not installed")


def prepare_child(cpu=None, realtime=False):
    """For preexec_fn: the child runs on `cpu` (None: anywhere), if asked before all ordinary processes, and does not outlive
    this process."""

    def prepare():
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if cpu is not None:
            os.sched_setaffinity(0, {cpu})
        if realtime:
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))

    return prepare


class Broker:
    """One running broker, as a context manager; at its end, SIGTERM to its own pid."""

    def __init__(self, installation, folder, plugin=None, plugin_options=(), prepare=None):
        """`plugin`: path of the .so, None for a native broker. `plugin_options`: "name value" each, beside the group and
        broker_acl. Configuration and log go to `folder`. `prepare`: preexec_fn."""
        self._installation = installation
        self._folder = pathlib.Path(folder)
        self._plugin = plugin
        self._plugin_options = plugin_options
        self._prepare = prepare or prepare_child()
        self._process = None
        self.port = None

    @property
    def pid(self):
        return self._process.pid

    @property
    def log_path(self):
        return self._folder / "broker.log"

    def __enter__(self):
        for _ in range(3):  # the free port may be taken by another before the broker has it
            self.port = _free_port()
            configuration = self._folder / "mosquitto.conf"
            configuration.write_text(self._configuration(), encoding="utf-8")
            with open(self.log_path, "w", encoding="utf-8") as log:
                self._process = subprocess.Popen(
                    [*self._installation.command, "-c", str(configuration)],
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                    preexec_fn=self._prepare,
                )
            if self._wait_until_serving():
                return self
            self._stop()
        raise BrokerError(f"the broker did not start:\n{self.log_path.read_text(encoding='utf-8', errors='replace')}")

    def __exit__(self, *_):
        self._stop()

    def _configuration(self):
        lines = [
            f"listener {self.port} 127.0.0.1",
            "allow_anonymous true",
            "persistence false",
            "sys_interval 0",
            "set_tcp_nodelay true",
            "log_dest stderr",
            "log_type error",
            "log_type warning",
        ]
        if os.geteuid() == 0:
            lines.append("user root")  # else it could not read what lies in this user's folders
        if self._plugin:
            lines += [
                f"plugin {self._plugin}",
                "plugin_opt_group ingest key=topic:2",
                "plugin_opt_broker_acl none",
                *(f"plugin_opt_{option}" for option in self._plugin_options),
            ]
        return "\n".join(lines) + "\n"

    def _wait_until_serving(self):
        deadline = time.monotonic() + START_LIMIT_S
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                return False
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return True
            time.sleep(0.02)
        return False

    def _stop(self):
        if self._process is None or self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
