#!/bin/sh
# nginx with two worker processes, and with the cache of open files that its manual has for files that are served often. It asks again
# after a second, as Weir's own cache does. See ../http-peer-common/peer.sh.
if [ -z "${open_files+set}" ]; then
	open_files='open_file_cache max=10000 inactive=20s; open_file_cache_valid 1s; open_file_cache_min_uses 1; open_file_cache_errors on;'
fi
. ../http-peer-common/peer.sh
need nginx "$@"
if [ "$1" = --version ]; then nginx -v 2>&1 | sed 's/^nginx version: //'; exit; fi
arguments "$@"

user=
if [ "$(id -u)" = 0 ]; then user='user root;'; fi # it only reads, and may be asked for a folder that is root's alone
compress=off
if [ "$gzip" = 1 ]; then compress=on; fi

tls= settings=
if [ -n "$cert" ]; then
	tls=ssl
	settings="ssl_certificate $cert; ssl_certificate_key $key; ssl_protocols TLSv1.3; ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256; ssl_session_cache shared:weir:10m;"
fi

cat >"$state/nginx.conf" <<END
$user
daemon off;
pid $state/pid;
error_log stderr error;
worker_processes $workers;

events {
    worker_connections 16384;
}

http {
    types { text/html html; text/plain txt; }
    default_type application/octet-stream;
    access_log off;
    sendfile on;
    tcp_nopush on;
    tcp_nodelay on;
    $open_files
    keepalive_requests 1000000000;
    client_body_temp_path $state/body;
    proxy_temp_path $state/proxy;
    fastcgi_temp_path $state/fastcgi;
    uwsgi_temp_path $state/uwsgi;
    scgi_temp_path $state/scgi;
    gzip $compress;
    gzip_comp_level 5;
    gzip_vary on;

    server {
        listen $addr $tls backlog=4096;
        $settings
        root $www;
    }
}
END
serve QUIT nginx -e stderr -p "$state" -c "$state/nginx.conf"
