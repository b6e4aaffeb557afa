#!/bin/sh
# Runs Ergo: see ../chat-peer-common/peer.sh. ERGO is the program, HISTORY_STORE what its settings say of where history is kept for good.
. ../chat-peer-common/peer.sh
need "$ERGO" "$@"
if [ "$1" = --version ]; then "$ERGO" --version; exit; fi
arguments "$@"
case $host in *:*) addr="[$host]:$port" ;; *) addr=$host:$port ;; esac
cat >"$state/ircd.yaml" <<END
network: {name: weir}
server:
  name: irc.weir.test
  listeners: {"$addr": {}}
  casemapping: ascii
  enforce-utf8: true
  lookup-hostnames: false
  check-ident: false
  max-sendq: 4M
  ip-limits: {count: false, throttle: false}
  ip-cloaking: {enabled: true, netname: irc, cidr-len-ipv4: 32, cidr-len-ipv6: 64, num-bits: 64}
accounts:
  authentication-enabled: true
  registration: {enabled: false, bcrypt-cost: 4}
  nick-reservation: {enabled: false, guest-nickname-format: "Guest-*"}
  multiclient: {enabled: false}
channels:
  default-modes: +nt
  max-channels-per-client: 100
  registration: {enabled: false}
oper-classes: {}
opers: {}
logging: []
debug: {recover-from-errors: true}
lock-file: "$state/ircd.lock"
datastore:
  path: "$state/ircd.db"
  autoupgrade: true
  mysql: {enabled: false}
${HISTORY_STORE:-}
languages: {enabled: false, default: en}
limits:
  nicklen: 32
  identlen: 20
  channellen: 64
  awaylen: 390
  kicklen: 390
  topiclen: 390
  monitor-entries: 100
  whowas-entries: 100
  chan-list-modes: 60
  registration-messages: 1024
  multiline: {max-bytes: 4096, max-lines: 100}
fakelag: {enabled: false}
history:
  enabled: true
  channel-length: $history
  client-length: 256
  autoresize-window: 3d
  autoreplay-on-join: 0
  chathistory-maxmessages: 1000
  znc-maxmessages: 2048
  restrictions: {expire-time: 1w, query-cutoff: none, grace-period: 1h}
  persistent: {enabled: ${PERSISTENT:-false}, unregistered-channels: true, registered-channels: mandatory, direct-messages: mandatory}
END
"$ERGO" initdb --conf "$state/ircd.yaml" --quiet >/dev/null
exec "$ERGO" run --conf "$state/ircd.yaml" --quiet >/dev/null
