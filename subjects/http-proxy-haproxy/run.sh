#!/bin/sh
# HAProxy with two threads. See ../http-peer-common/peer.sh; in place of the folder stands the
# upstream, HOST:PORT.
. ../http-peer-common/peer.sh
need haproxy "$@"
if [ "$1" = --version ]; then haproxy -v | sed -n '1s/^HAProxy version \([^ ]*\).*/HAProxy \1/p'; exit; fi
arguments "$@"

most=$(ulimit -n) # descriptors, of which a proxied connection takes two
if [ "$most" = unlimited ] || [ "$most" -gt 33000 ]; then most=33000; fi

cat >"$state/haproxy.cfg" <<END
global
    nbthread $workers
    maxconn $(((most - 200) / 2))

defaults
    mode http
    timeout connect 5s
    timeout client 75s
    timeout server 60s
    timeout http-request 60s
    option forwardfor
    http-reuse always

frontend in
    bind $addr backlog 4096
    default_backend files

backend files
    server upstream $www
END
serve USR1 haproxy -db -q -f "$state/haproxy.cfg"
