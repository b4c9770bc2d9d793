# SPDX-License-Identifier: Apache-2.0
# Concur's image: the Debian package of scripts/package on a slim Debian 12 without a compiler.
#   docker build --build-arg COMMIT=$(git rev-parse --short HEAD) -t concur .   (or: buildah bud …)
# Without network or builder, scripts/image makes the same image from a package built on this machine.
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS build
ARG COMMIT=
WORKDIR /src
COPY scripts/install-packages scripts/
COPY scripts/packages/build.txt scripts/packages/package.txt scripts/packages/
RUN scripts/install-packages scripts/packages/build.txt scripts/packages/package.txt
COPY . .
RUN CONCUR_COMMIT=${COMMIT} scripts/package

FROM ${BASE} AS run
COPY --from=build /src/build/release/packages/ /tmp/packages/
# The package finds its user there, with the number that k8s/ names.
RUN groupadd --gid 10001 concur \
  && useradd --uid 10001 --gid 10001 --home-dir /var/lib/concur --shell /usr/sbin/nologin concur \
  && apt-get update -qq \
  && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
     /tmp/packages/concur_*.deb \
  && rm -rf /var/lib/apt/lists/* /tmp/packages \
  && install -d -m 0750 -o 10001 -g 10001 /var/lib/concur /var/lib/concur-worker
USER 10001:10001
WORKDIR /var/lib/concur
ENV HOME=/var/lib/concur
EXPOSE 7447
CMD ["concur-coordinator"]
