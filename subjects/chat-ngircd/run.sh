#!/bin/sh
# Runs ngIRCd: see ../chat-peer-common/peer.sh.
. ../chat-peer-common/peer.sh
need ngircd "$@"
if [ "$1" = --version ]; then ngircd --version | head -n 1; exit; fi
arguments "$@"
cat >"$state/ngircd.conf" <<END
[Global]
Name = irc.weir.test
Info = weir
Listen = $host
Ports = $port
PidFile =
[Limits]
MaxConnections = 0
MaxConnectionsIP = 0
MaxJoins = 0
MaxPenaltyTime = 0
PingTimeout = 600
PongTimeout = 600
[Options]
DNS = no
Ident = no
PAM = no
END
if [ "$(id -u)" = 0 ]; then
	# It gives up being root. Without these it would become nobody, who may not look in here.
	printf '[Global]\nServerUID = %s\nServerGID = %s\n' root root >>"$state/ngircd.conf"
fi
exec ngircd --nodaemon --config "$state/ngircd.conf" >/dev/null
