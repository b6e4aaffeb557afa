package site

import (
	"context"
	"fmt"
	"net"
	"net/http"
	nethttpfcgi "net/http/fcgi"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"weir/flow"
	"weir/internal/certificate/certtest"
	"weir/web"
	"weir/web/internal/canonical"
	"weir/web/server"
)

// secret must never be in a response without credentials.
const secret = "TOP-SECRET"

// guarded is what a site protects: a folder, a host, or a folder of one host. An empty part matches
// anything.
type guarded struct{ folder, host string }

// world holds the upstreams of the test's sites and the servers that run them.
type world struct {
	dir, users, program string
	upstream, fastcgi   string
	guarded             atomic.Pointer[guarded] // the secret part of the upstreams
	servers             []*server.Server        // all
	tls                 *server.TLS
	h1                  overHTTP1
	h2                  overHTTP2
}

func newWorld(t *testing.T) *world {
	w := &world{dir: t.TempDir()}
	w.users = filepath.Join(w.dir, "users")
	hash, err := bcrypt.GenerateFromPassword([]byte("sesame"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string, mode os.FileMode) string {
		name = filepath.Join(w.dir, name)
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return name
	}
	w.users = write("users", "ann:"+string(hash)+"\n", 0o600)
	w.program = write("app.sh", program, 0o700)
	upstream := httptest.NewServer(http.HandlerFunc(w.application))
	t.Cleanup(upstream.Close)
	w.upstream = upstream.URL
	l, err := net.Listen("unix", filepath.Join(w.dir, "app.sock"))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{}) // closed when the application ends
	go func() { defer close(done); _ = nethttpfcgi.Serve(l, http.HandlerFunc(w.application)) }()
	t.Cleanup(func() { l.Close(); <-done })
	w.fastcgi = "unix:" + l.Addr().String()
	cert, key := certtest.New(t).Files(t, w.dir, "weir.test")
	w.tls = &server.TLS{CertFile: cert, KeyFile: key}
	w.h1.addr = w.serveWith(t, server.Config{Addr: "127.0.0.1:0"})
	w.h2.addr = w.serveWith(t, server.Config{Addr: "127.0.0.1:0", TLS: w.tls})
	return w
}

// serveWith runs a server until the test ends.
func (w *world) serveWith(t *testing.T, config server.Config) (addr string) {
	s, err := server.New(http.NotFoundHandler(), config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1) // from Run -> to the clean-up, one
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		w.h1.close()
		w.h2.close()
		stop()
		<-ended
	})
	w.servers = append(w.servers, s)
	return s.Addr().String()
}

// run serves a site with a concurrency model while f runs.
func (w *world) run(text string, way flow.Way, f func()) error {
	s, err := Parse("site.hcl", []byte(text), nil)
	if err != nil {
		return fmt.Errorf("%w:\n%s", err, text)
	}
	defer s.Close()
	h, err := web.New(s.Services[0].Pipe, web.Options{Way: way})
	if err != nil {
		return err
	}
	defer h.Close()
	for _, s := range w.servers {
		s.SetHandler(h)
	}
	f()
	return nil
}

// program is a CGI program that has a secret under FOLDER, or for HOST, by either of the names that
// it gets.
const program = `#!/bin/sh
printf 'Content-Type: text/plain\r\n\r\n'
host=${HTTP_HOST%%:*}
case "$HOST" in ''|"$host") ;; *) echo public; exit;; esac
uri=${REQUEST_URI%%\?*}
for path in "$PATH_INFO" "$uri"; do
	case "$FOLDER" in '') echo ` + secret + `; exit;; esac
	case "$path" in "$FOLDER"|"$FOLDER"/*) echo ` + secret + `; exit;; esac
done
echo public
`

// application is an upstream that returns a secret if any reading of the request leads to the
// guarded part: it is the most careless of all upstreams.
func (w *world) application(rw http.ResponseWriter, r *http.Request) {
	g := w.guarded.Load()
	if g.host != "" && !strings.EqualFold(strings.TrimSuffix(canonical.Name(r.Host), "."), g.host) {
		fmt.Fprintln(rw, "public")
		return
	}
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if r.RequestURI == "" { // FastCGI
		path = r.URL.EscapedPath()
	}
	for _, reading := range readings(path) {
		if canonical.IsBelow(g.folder, reading) {
			fmt.Fprintln(rw, secret)
			return
		}
	}
	fmt.Fprintln(rw, "public")
}

// readings returns the paths that programs may take an escaped path for: decoded or not, with an
// encoded slash as a slash or as data, with dot segments resolved or not, and with or without
// parameters of segments.
func readings(escaped string) (all []string) {
	data := strings.NewReplacer("%2f", "\x01", "%2F", "\x01").Replace(escaped)
	for _, path := range []string{escaped, data} {
		if decoded, err := url.PathUnescape(path); err == nil {
			all = append(all, decoded)
		}
		all = append(all, path)
	}
	for _, path := range all {
		path = strings.ReplaceAll(path, `\`, "/")
		path = dotParams.ReplaceAllString(path, "$1")
		all = append(all, canonical.Resolve(path), canonical.Resolve(params.ReplaceAllString(path, "")))
	}
	return all
}
