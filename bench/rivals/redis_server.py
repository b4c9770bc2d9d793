# SPDX-License-Identifier: Apache-2.0
"""A Redis on a unix socket that syncs its log of writes before it answers any of them."""

import importlib


class Redis:
    def __init__(self, rival):
        self.socket = rival.directory / "redis.sock"
        rival.serve(["redis-server", "--port", 0, "--unixsocket", self.socket, "--dir",
                     rival.directory, "--save", "", "--appendonly", "yes", "--appendfsync", "always"])
        redis = importlib.import_module("redis")
        self.client = redis.Redis(unix_socket_path=str(self.socket))

        def answers():
            try:
                return self.client.ping()
            except redis.exceptions.ConnectionError:
                return False

        rival.until(answers, "Redis answers")

    def settings(self):
        config = {name: self.client.config_get(name)[name] for name in ("appendonly", "appendfsync")}
        if config != {"appendonly": "yes", "appendfsync": "always"}:
            raise RuntimeError(f"Redis is not durable: {config}")
        return (f"Redis {self.client.info('server')['redis_version']} with "
                + ", ".join(f"{name} {value}" for name, value in config.items()))
