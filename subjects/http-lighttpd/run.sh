#!/bin/sh
# lighttpd: one process, as its makers advise. See ../http-peer-common/peer.sh.
. ../http-peer-common/peer.sh
need lighttpd "$@"
if [ "$1" = --version ]; then lighttpd -v | sed -n '1s/ (.*//p'; exit; fi
arguments "$@"

case $host in *:*) host="[$host]" ;; esac
compress=
if [ "$gzip" = 1 ]; then
	compress=$(cat <<END
server.modules += ( "mod_deflate" )
deflate.mimetypes = ( "text/" )
deflate.allowed-encodings = ( "gzip" )
deflate.compression-level = 6
END
	)
fi
files=$(ulimit -n) # a descriptor for each connection, and some for files
if [ "$files" = unlimited ] || [ "$files" -gt 65535 ]; then files=65535; fi
tls=
if [ -n "$cert" ]; then
	tls=$(cat <<END
server.modules += ( "mod_openssl" )
ssl.engine = "enable"
ssl.pemfile = "$cert"
ssl.privkey = "$key"
ssl.openssl.ssl-conf-cmd = ( "MinProtocol" => "TLSv1.3", "Ciphersuites" => "TLS_AES_128_GCM_SHA256" )
END
	)
fi

cat >"$state/lighttpd.conf" <<END
server.modules = ( )
server.bind = "$host"
server.port = $port
server.document-root = "$www"
server.upload-dirs = ( "$state" )
server.pid-file = "$state/pid"
server.max-fds = $files
server.max-connections = $((files - 500))
server.listen-backlog = 4096
server.max-keep-alive-requests = 65535
server.max-keep-alive-idle = 75
mimetype.assign = ( ".html" => "text/html", ".txt" => "text/plain" )
$compress
$tls
END
serve INT lighttpd -D -f "$state/lighttpd.conf"
