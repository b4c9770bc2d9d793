# Concur's image: coordinator, worker, concur and concur-qa on a slim Debian 12 without a compiler.
#   docker build -t concur .      or      buildah bud -t concur .
# Without network or builder, scripts/image makes the same image from programs built on this machine.
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS build
WORKDIR /src
COPY scripts/packages.txt scripts/install-packages scripts/
RUN scripts/install-packages
COPY . .
RUN scripts/build release concur concur-fetch concur-chaos concur-coordinator concur-worker concur-qa \
  && strip build/release/bin/*

FROM ${BASE} AS run
COPY scripts/packages-image.txt /tmp/packages.txt
RUN apt-get update -qq \
  && sed -e 's/#.*//' -e '/^[[:space:]]*$/d' /tmp/packages.txt \
     | DEBIAN_FRONTEND=noninteractive xargs apt-get install -y -qq --no-install-recommends \
  && rm -rf /var/lib/apt/lists/* /tmp/packages.txt \
  && groupadd --gid 10001 concur \
  && useradd --uid 10001 --gid 10001 --home-dir /var/lib/concur --shell /usr/sbin/nologin concur \
  && install -d -m 0750 -o 10001 -g 10001 /var/lib/concur /var/lib/concur-worker

FROM run
COPY --from=build /src/build/release/bin/concur /src/build/release/bin/concur-fetch \
     /src/build/release/bin/concur-chaos /src/build/release/bin/concur-coordinator \
     /src/build/release/bin/concur-worker /src/build/release/bin/concur-qa /usr/local/bin/
USER 10001:10001
WORKDIR /var/lib/concur
ENV HOME=/var/lib/concur
EXPOSE 7447
CMD ["concur-coordinator"]
