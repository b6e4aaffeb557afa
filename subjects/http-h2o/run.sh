#!/bin/sh
# H2O with two threads. See ../http-peer-common/peer.sh.
. ../http-peer-common/peer.sh
need h2o "$@"
if [ "$1" = --version ]; then h2o --version | sed -n '1s/^h2o version /H2O /p'; exit; fi
arguments "$@"

user=
if [ "$(id -u)" = 0 ]; then user='user: root'; fi # it only reads, and may be asked for a folder that is root's alone
compress=OFF
if [ "$gzip" = 1 ]; then compress='[gzip]'; fi
tls=
if [ -n "$cert" ]; then
	tls=$(printf '  ssl:\n    certificate-file: %s\n    key-file: %s\n    minimum-version: TLSv1.3\n    cipher-preference: client' "$cert" "$key")
fi

cat >"$state/h2o.conf" <<END
$user
pid-file: $state/pid
error-log: /dev/null
num-threads: $workers
max-connections: 16384
tcp-fastopen: 0
http1-request-timeout: 75
http2-graceful-shutdown-timeout: 1
temp-buffer-path: $state
listen:
  host: "$host"
  port: $port
$tls
hosts:
  default:
    paths:
      /:
        file.dir: $www
        compress: $compress
END
serve TERM h2o -m worker -c "$state/h2o.conf"
