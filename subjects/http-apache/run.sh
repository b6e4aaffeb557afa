#!/bin/sh
# Apache with its event MPM and two processes. See ../http-peer-common/peer.sh.
. ../http-peer-common/peer.sh
need apache2 "$@"
if [ "$1" = --version ]; then apache2 -v | sed -n 's/^Server version: //p'; exit; fi
arguments "$@"

modules=/usr/lib/apache2/modules
user=
if [ "$(id -u)" = 0 ]; then # it refuses to serve as root
	user=$(printf 'User www-data\nGroup www-data')
	setpriv --reuid www-data --regid www-data --clear-groups test -r "$www/." ||
		{ echo "apache2 serves as www-data, which may not read $www: serve a folder that everybody may read" >&2; exit 1; }
fi
compress=
if [ "$gzip" = 1 ]; then
	compress=$(cat <<END
LoadModule filter_module $modules/mod_filter.so
LoadModule deflate_module $modules/mod_deflate.so
AddOutputFilterByType DEFLATE text/html text/plain
DeflateCompressionLevel 6
END
	)
fi
tls=
if [ -n "$cert" ]; then
	tls=$(cat <<END
LoadModule ssl_module $modules/mod_ssl.so
SSLEngine on
SSLCertificateFile $cert
SSLCertificateKeyFile $key
SSLProtocol TLSv1.3
SSLCipherSuite TLSv1.3 TLS_AES_128_GCM_SHA256
SSLSessionCache none
END
	)
fi

cat >"$state/apache.conf" <<END
ServerRoot $state
DefaultRuntimeDir $state
PidFile $state/pid
ErrorLog /dev/stderr
LogLevel error
ServerName localhost
Listen $addr
ListenBacklog 4096
$user

LoadModule mpm_event_module $modules/mod_mpm_event.so
LoadModule authz_core_module $modules/mod_authz_core.so
LoadModule mime_module $modules/mod_mime.so

ServerLimit $workers
StartServers $workers
ThreadLimit 128
ThreadsPerChild 128
MaxRequestWorkers $((workers * 128))
MinSpareThreads 1
MaxSpareThreads $((workers * 128))
AsyncRequestWorkerFactor 64

KeepAlive On
KeepAliveTimeout 75
MaxKeepAliveRequests 0
EnableSendfile On

TypesConfig /dev/null
AddType text/html .html
AddType text/plain .txt
DocumentRoot $www
<Directory />
    Options FollowSymLinks
    AllowOverride None
    Require all granted
</Directory>
$compress
$tls
END
serve WINCH apache2 -D FOREGROUND -f "$state/apache.conf"
