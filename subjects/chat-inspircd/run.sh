#!/bin/sh
# Runs InspIRCd: see ../chat-peer-common/peer.sh. NODELAY in the environment is a library to load before it, which sets TCP_NODELAY.
. ../chat-peer-common/peer.sh
need inspircd "$@"
if [ "$1" = --version ]; then inspircd --version; exit; fi
arguments "$@"
cat >"$state/inspircd.conf" <<END
<server name="irc.weir.test" description="weir" network="weir" id="1WE">
<admin name="weir" nick="weir" email="weir@weir.test">
<bind address="$host" port="$port" type="clients">
<connect allow="*" timeout="60" pingfreq="600" hardsendq="4194304" softsendq="4194304" recvq="1048576" fakelag="no" commandrate="2000000000" threshold="2000000000"
	localmax="100000" globalmax="100000" limit="100000" resolvehostnames="no" useident="no" useconnflood="no">
<module name="cap">
<module name="ircv3">
<module name="ircv3_batch">
<module name="ircv3_ctctags">
<module name="ircv3_echomessage">
<module name="ircv3_servertime">
<module name="ircv3_msgid">
<dns server="127.0.0.1" timeout="1">
<pid file="$state/inspircd.pid">
<options hostintopic="yes">
<performance somaxconn="4096" softlimit="100000" netbuffersize="65534" quietbursts="yes" clonesonconnect="no" timeskipwarn="0">
<security maxtargets="20" runasuser="" runasgroup="">
<path configdir="$state" datadir="$state" logdir="$state">
<log method="file" type="* -*" level="none" target="/dev/null">
END
root=
if [ "$(id -u)" = 0 ]; then root=--runasroot; fi
if [ -n "${NODELAY:-}" ]; then
	LD_PRELOAD=$NODELAY
	export LD_PRELOAD
fi
inspircd --nofork --nopid $root --config "$state/inspircd.conf" >/dev/null &
server=$!
unset LD_PRELOAD
stopped=
trap 'stopped=1; kill -TERM $server 2>/dev/null || true' TERM INT
status=0
wait $server || status=$?
while [ -n "$stopped" ]; do # it was a signal that ended the wait, or has come since: the server's own end is what counts
	stopped=
	ended=0
	wait $server || ended=$?
	if [ $ended != 127 ]; then status=$ended; fi # of which a shell that has told it before knows nothing any more
done
if [ $status = 10 ]; then status=0; fi # that is how InspIRCd ends by SIGTERM
exit $status
