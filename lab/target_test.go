package lab

import (
	"encoding/pem"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	coder "github.com/coder/websocket"

	"weir/lab/result"
	"weir/lab/workload"
	"weir/lab/workload/http"
	"weir/lab/workload/websocket"
)

// secureTarget starts an HTTPS server with HTTP/2, and returns its address and the file of its
// certificate.
func secureTarget(t *testing.T) (addr, cert string) {
	t.Helper()
	s := httptest.NewUnstartedServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		w.Write([]byte("hello")) //nolint:errcheck // the client sees it
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	cert = filepath.Join(t.TempDir(), "cert.pem")
	must(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	return s.Listener.Addr().String(), cert
}

// silentTarget starts a server that accepts and says nothing.
func silentTarget(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() }) // connections wait in its backlog
	return l.Addr().String()
}

// runTarget runs a load of requests against a server that runs already.
func runTarget(t *testing.T, l http.Load, target string) (*result.Results, error) {
	t.Helper()
	b := newBench(t)
	b.experiment.Workload, b.experiment.Patterns = http.Requests, nil
	l.Name, l.Rate = "requests", 500 // a target gets 1,000 requests in the warm-up
	b.experiment.Loads = []workload.Load{&l}
	b.experiment.TimeLimit = 1
	b.options.Targets = []string{target}
	return b.run(t.Context(), nil)
}

func TestAnHTTPSTargetIsMetByTLS(t *testing.T) {
	addr, cert := secureTarget(t)
	for _, l := range []http.Load{
		{HTTP2: true, Encryption: http.Encryption{Insecure: true}},
		{Encryption: http.Encryption{TLS: true, CA: cert, ServerName: "example.com"}},
	} {
		found, err := runTarget(t, l, "mine=https://"+addr)
		must(t, err)
		if trial := found.Trials[0]; trial.Messages == 0 || len(trial.FailedBecause) > 0 || !strings.HasPrefix(trial.HTTP.TLS, "TLS 1.3, ") {
			t.Errorf("%+v: got %d answers, failures %q and TLS %q; want answers by TLS 1.3", l, trial.Messages, trial.FailedBecause, trial.HTTP.TLS)
		}
	}
}

func TestAFaultOfAnHTTPSTargetIsOneClearError(t *testing.T) {
	addr, cert := secureTarget(t)
	plain := httptest.NewServer(nil)
	defer plain.Close()
	for _, test := range []struct {
		load         http.Encryption
		target, want string
	}{
		{http.Encryption{}, "mine=https://" + addr, "the server's certificate is not trusted: give the certificate that signed it by --ca FILE, or accept any by --insecure"},
		{http.Encryption{CA: cert, ServerName: "example.org"}, "mine=https://" + addr, `the server's certificate is not for "example.org": give a name that it has by --server-name`},
		{http.Encryption{Insecure: true}, "mine=https://" + silentTarget(t), "the server did not complete the handshake in time"},
		{http.Encryption{Insecure: true}, "mine=https://" + plain.Listener.Addr().String(), "the server does not speak TLS on this port"},
		{http.Encryption{TLS: true}, "mine=" + plain.URL, "mine cannot take part: the loads are for subjects with {cert}"},
		{http.Encryption{Insecure: true}, "mine=https://" + addr + "/path", "the target mine is not NAME=http://HOST:PORT or NAME=https://HOST:PORT"},
		{http.Encryption{Insecure: true, CA: cert}, "mine=https://" + addr, "give one of them"},
		{http.Encryption{CA: cert + ".none"}, "mine=https://" + addr, "cannot read the certificates to trust"},
	} {
		_, err := runTarget(t, http.Load{Encryption: test.load}, test.target)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s with %+v: got error %v, want one with %q", test.target, test.load, err, test.want)
		}
	}
}

func TestALoadWithoutTLSRejectsAnHTTPSTarget(t *testing.T) {
	b := newBench(t)
	b.options.Targets = []string{"mine=https://127.0.0.1:1"}
	if _, err := b.run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "mine cannot take part: the loads are for servers without TLS") {
		t.Errorf("messages of a stream: got error %v, want that the target cannot take part", err)
	}
}

// TestWebSocketMessagesAreALoad: a server of another making echoes messages, in the clear and by
// TLS, at a rate and in a closed loop.
func TestWebSocketMessagesAreALoad(t *testing.T) {
	var serves sync.WaitGroup
	echo := nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		c, err := coder.Accept(w, r, nil)
		if err != nil {
			return
		}
		serves.Add(1)
		defer serves.Done()
		defer c.CloseNow()
		for {
			kind, text, err := c.Read(r.Context())
			if err != nil || c.Write(r.Context(), kind, text) != nil {
				return
			}
		}
	})
	plain, secured := httptest.NewServer(echo), httptest.NewTLSServer(echo)
	defer func() { plain.Close(); secured.Close(); serves.Wait() }()
	b := newBench(t)
	b.experiment.Workload, b.experiment.Patterns, b.experiment.TimeLimit = websocket.Name, nil, 1
	b.experiment.Loads = []workload.Load{
		&websocket.Load{Common: workload.Common{Name: "rate", Rate: 500}, Message: "hello", Echo: true, Encryption: http.Encryption{Insecure: true}},
		&websocket.Load{Common: workload.Common{Name: "loop"}, Encryption: http.Encryption{Insecure: true}},
	}
	b.options.Targets = []string{"plain=" + plain.URL, "secured=" + secured.URL}
	found, err := b.run(t.Context(), nil)
	must(t, err)
	seen := map[string]bool{}
	for _, trial := range found.Trials {
		seen[trial.Subject+" "+trial.Load] = true
		if trial.Messages == 0 || trial.LatencyUS.P50 <= 0 || len(trial.FailedBecause) > 0 || (trial.HTTP.TLS != "") != (trial.Subject == "secured") {
			t.Errorf("%s, %s: got %d answers after %v us, failures %q and TLS %q; want answers, and TLS with one server", trial.Subject, trial.Load, trial.Messages, trial.LatencyUS.P50, trial.FailedBecause, trial.HTTP.TLS)
		}
	}
	if len(seen) != 4 {
		t.Errorf("got trials of %v, want two servers under two loads", seen)
	}
}
