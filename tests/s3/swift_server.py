#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""OpenStack Swift with its S3 interface, whole, in one process on free ports of this machine.

    swift_server.py DIRECTORY ACCESS_KEY SECRET_KEY

Writes the address of the S3 interface to DIRECTORY/address once it answers, and serves until it is
killed. Objects live in memory. Needs Debian's package python3-swift. Signatures of requests, and
the digests of what they carry, are checked as Amazon's S3 does.
"""

import os
import pathlib
import signal
import sys

import eventlet

eventlet.patcher.monkey_patch(all=False, socket=True, select=True, thread=True)

from eventlet import wsgi  # noqa: E402
from swift.common import utils  # noqa: E402
from swift.common.ring import RingBuilder  # noqa: E402
from swift.common.wsgi import SwiftHttpProtocol, loadapp  # noqa: E402

BACKEND = """
[DEFAULT]
swift_dir = {directory}
devices = {directory}/devices
mount_check = false
fallocate_reserve = 0
log_address = {directory}/no-log
[pipeline:main]
pipeline = server
[app:server]
use = egg:swift#{egg}
"""

PROXY = """
[DEFAULT]
swift_dir = {directory}
log_address = {directory}/no-log
[pipeline:main]
pipeline = catch_errors cache listing_formats s3api tempauth copy slo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
allow_account_management = true
conn_timeout = 5
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:1
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
force_swift_request_proxy_log = false
[filter:tempauth]
use = egg:swift#tempauth
user_{account}_{user} = {secret} .admin
[filter:copy]
use = egg:swift#copy
[filter:slo]
use = egg:swift#slo
"""


def ring(directory, name, port):
    builder = RingBuilder(2, 1, 1)
    builder.add_dev({"region": 1, "zone": 1, "weight": 1, "ip": "127.0.0.1", "port": port,
                     "replication_ip": "127.0.0.1", "replication_port": port, "device": "disk"})
    builder.rebalance()
    builder.get_ring().save(str(directory / f"{name}.ring.gz"))


def serve(directory, name, text, listener):
    path = directory / f"{name}.conf"
    path.write_text(text)
    app = loadapp(str(path), allow_modify_pipeline=name == "proxy")
    eventlet.spawn_n(wsgi.server, listener, app, open(os.devnull, "w"), log_output=False,
                     protocol=SwiftHttpProtocol, debug=False, keepalive=True, max_size=1024)


def main():
    directory = pathlib.Path(sys.argv[1]).absolute()
    account, user = sys.argv[2].split(":")
    (directory / "devices" / "disk").mkdir(parents=True)
    utils.HASH_PATH_PREFIX = b"concur"
    utils.HASH_PATH_SUFFIX = b"test"
    backends = {"account": "account", "container": "container", "object": "mem_object"}
    listeners = {name: eventlet.listen(("127.0.0.1", 0)) for name in (*backends, "proxy")}
    for name in backends:
        ring(directory, name, listeners[name].getsockname()[1])
    for name, egg in backends.items():
        serve(directory, name, BACKEND.format(directory=directory, egg=egg), listeners[name])
    serve(directory, "proxy",
          PROXY.format(directory=directory, account=account, user=user, secret=sys.argv[3]),
          listeners["proxy"])
    partial = directory / "address.new"
    partial.write_text("http://127.0.0.1:%d\n" % listeners["proxy"].getsockname()[1])
    partial.rename(directory / "address")
    signal.signal(signal.SIGTERM, lambda *unused: os._exit(0))
    while True:
        eventlet.sleep(3600)


if __name__ == "__main__":
    main()
