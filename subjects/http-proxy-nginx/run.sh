#!/bin/sh
# nginx as a proxy with two worker processes, which keep connections to the upstream as its manual
# has it (ngx_http_upstream_module, keepalive). See ../http-peer-common/peer.sh; in place of the
# folder stands the upstream, HOST:PORT.
. ../http-peer-common/peer.sh
need nginx "$@"
if [ "$1" = --version ]; then nginx -v 2>&1 | sed 's/^nginx version: //'; exit; fi
arguments "$@"

cat >"$state/nginx.conf" <<END
daemon off;
pid $state/pid;
error_log stderr error;
worker_processes $workers;

events {
    worker_connections 16384;
}

http {
    access_log off;
    tcp_nodelay on;
    keepalive_requests 1000000000;
    client_body_temp_path $state/body;
    proxy_temp_path $state/proxy;
    fastcgi_temp_path $state/fastcgi;
    uwsgi_temp_path $state/uwsgi;
    scgi_temp_path $state/scgi;

    upstream files {
        server $www;
        keepalive 256;
        keepalive_requests 1000000000;
    }
    server {
        listen $addr backlog=4096;
        location / {
            proxy_pass http://files;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host \$host;
            proxy_set_header X-Forwarded-For \$proxy_add_x_forwarded_for;
        }
    }
}
END
serve QUIT nginx -e stderr -p "$state" -c "$state/nginx.conf"
