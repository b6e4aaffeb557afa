package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/internal/certificate/certtest"
	"weir/serve"
	"weir/web/internal/conformance"
)

// childFlag starts the test binary as a child process of a server: -server.child=MODEL, followed by
// the files of certificate and key if it has TLS, or by a name in childHandlers.
const childFlag = "-server.child="

// Names in childHandlers.
const (
	slowFlag     = "slow"        // for a server under attack by slow clients
	echoFlag     = "echo"        // echoContent, and at leftoverPath what the child has open
	conformsFlag = "conformance" // the handler of package conformance
)

// childHandlers are the handlers of children without TLS.
var childHandlers = map[string]http.Handler{slowFlag: largePage, echoFlag: http.HandlerFunc(echoOrReport), conformsFlag: conformance.Handler()}

// beChild is the child process.
func beChild(model string, files []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	way, err := serve.ParseWay(model)
	if err == nil {
		err = runChild(ctx, way, files)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		return 1
	}
	return 0
}

func runChild(ctx context.Context, way serve.Way, files []string) error {
	h, c := http.Handler(http.HandlerFunc(sayProcess)), processConfig(way, files, true)
	if len(files) == 1 {
		h = childHandlers[files[0]]
	}
	if len(files) == 1 && files[0] == slowFlag {
		c = slowConfig(c)
	}
	s, err := New(h, c)
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

// processConfig is the configuration of the parent and of its children.
func processConfig(way serve.Way, files []string, isChild bool) Config {
	c := Config{Engine: HTTP1, Model: way, IsChild: isChild, DrainTimeout: 20 * time.Second}
	if way == serve.Prefork {
		c.Workers = 2
	}
	if !isChild {
		c.ChildCommand = append([]string{os.Args[0], childFlag + way.String()}, files...)
	}
	if len(files) > 1 {
		c.TLS = &TLS{CertFile: files[0], KeyFile: files[1]}
	}
	return c
}

// sayProcess answers with the number of its process and the protocol, after the time that the query
// names, or with the query stop when the server stops.
func sayProcess(w http.ResponseWriter, r *http.Request) {
	if r.URL.RawQuery == "stop" {
		sayStop(w, r)
		return
	}
	d, _ := time.ParseDuration(r.URL.RawQuery)
	time.Sleep(d)
	fmt.Fprint(w, os.Getpid(), " ", r.Proto)
}

// TestAHandlerInAChildLearnsOfAStop: its request ends long before the drain times out.
func TestAHandlerInAChildLearnsOfAStop(t *testing.T) {
	eachProcessModel(t, func(t *testing.T, _ serve.Way, s *running) { checkStopIsLearned(t, s) })
}

// eachProcessModel runs a test by the models with child processes, without TLS and with it.
func eachProcessModel(t *testing.T, test func(t *testing.T, way serve.Way, s *running)) {
	if underTest != HTTP1 || modelUnderTest != serve.Goroutine {
		t.Skip("sets the model itself: once is enough")
	}
	for _, way := range []serve.Way{serve.Prefork, serve.Process} {
		for name, files := range map[string][]string{"plain": nil, "TLS": testFiles(t)} {
			t.Run(way.String()+"/"+name, func(t *testing.T) {
				test(t, way, start(t, processConfig(way, files, false), nil))
			})
		}
	}
}

// testFiles writes a certificate and its key.
func testFiles(t *testing.T) []string {
	t.Helper()
	c := files(t, certtest.New(t), t.TempDir(), "a")
	return []string{c.CertFile, c.KeyFile}
}

// askProcess sends a request on a connection of its own, or by client, and returns what sayProcess
// says.
func askProcess(t *testing.T, client *http.Client, s *running, query string) (pid, proto string) {
	t.Helper()
	scheme := "http"
	if s.config.TLS != nil {
		scheme = "https"
	}
	resp, err := client.Get(scheme + "://" + s.addr + "/?" + query)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	pid, proto, _ = strings.Cut(string(b), " ")
	return pid, proto
}

// newClient returns a client that trusts every certificate.
func newClient(t *testing.T, http2 bool) *http.Client {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: http2}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 30 * time.Second}
}

func TestChildProcessesServeConnections(t *testing.T) {
	eachProcessModel(t, func(t *testing.T, way serve.Way, s *running) {
		seen := map[string]bool{}
		wait(t, "two child processes answer", func() bool {
			client := newClient(t, false)
			first, _ := askProcess(t, client, s, "")
			second, _ := askProcess(t, client, s, "")
			if first != second || first == fmt.Sprint(os.Getpid()) {
				t.Errorf("two requests of one connection: got the processes %s and %s, want one child", first, second)
			}
			if seen[first] && way == serve.Process {
				t.Errorf("two connections: got the process %s for both, want one for each", first)
			}
			seen[first] = true
			return len(seen) >= 2
		})
		if s.config.TLS != nil {
			if _, proto := askProcess(t, newClient(t, true), s, ""); proto != "HTTP/2.0" {
				t.Errorf("a client that offers h2: got %s, want HTTP/2.0", proto)
			}
		}
	})
}

func TestAStopOfChildProcessesCompletesRequests(t *testing.T) {
	eachProcessModel(t, func(t *testing.T, way serve.Way, s *running) {
		idle := newClient(t, false)
		askProcess(t, idle, s, "")
		answered := make(chan string, 1)
		busy := newClient(t, false)
		askProcess(t, busy, s, "")
		go func() {
			pid, _ := askProcess(t, busy, s, "300ms")
			answered <- pid
		}()
		// the request is on its way: nothing shows that it was read
		time.Sleep(100 * time.Millisecond)
		began := time.Now()
		if err := s.stop(); err != nil {
			t.Errorf("Run returned %v, want nil", err)
		}
		if d := time.Since(began); d > 10*time.Second {
			t.Errorf("the stop took %v, want about the 0.3 s of the request: idle connections end at once", d)
		}
		if pid := <-answered; pid == "" {
			t.Error("the request under way got no answer, want one")
		}
	})
}

func TestConfigurationsThatProcessesCannotShareAreRejected(t *testing.T) {
	child := []string{"program"}
	for name, c := range map[string]struct {
		config Config
		want   string
	}{
		"no command for children": {Config{Model: serve.Prefork}, "set ChildCommand"},
		"a child without model":   {Config{IsChild: true}, "has none"},
		"ACME":                    {Config{Model: serve.Prefork, ChildCommand: child, TLS: &TLS{ACME: &ACME{}}}, "set CertFile"},
		"a local authority":       {Config{Model: serve.Process, ChildCommand: child, TLS: &TLS{CertFile: "c", KeyFile: "k", More: []TLS{{Local: &Local{}}}}}, "set CertFile"},
		"HTTP/3":                  {Config{Model: serve.Prefork, ChildCommand: child, HTTP3: true, TLS: &TLS{CertFile: "c", KeyFile: "k"}}, "leave HTTP3 out"},
		"a listener in memory":    {Config{Model: serve.Loop, Listener: memoryListener{}}, "needs a Listener with a file descriptor"},
		"net/http":                {Config{Model: serve.Prefork, ChildCommand: child, Engine: NetHTTP}, "choose the engine http1"},
	} {
		c.config.Addr = "127.0.0.1:0"
		if c.config.Engine == "" {
			c.config.Engine = HTTP1
		}
		if _, err := New(http.NotFoundHandler(), c.config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got the error %v, want one with %q", name, err, c.want)
		}
	}
}

// memoryListener is a listener without a file descriptor.
type memoryListener struct{ net.Listener }

// TestSlowClientsOfChildProcessesAreDropped: a head, content, and the next request must arrive
// within their limits of a second.
func TestSlowClientsOfChildProcessesAreDropped(t *testing.T) {
	if underTest != HTTP1 || modelUnderTest != serve.Goroutine {
		t.Skip("sets the model itself: once is enough")
	}
	for _, way := range []serve.Way{serve.Prefork, serve.Process} {
		s := start(t, processConfig(way, []string{slowFlag}, false), nil)
		for name, text := range map[string]string{
			"no request": "", "a part of a head": "GET / HTTP/1.1\r\nHost: a\r\n",
			"a part of the content": "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc", "no further request": "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
		} {
			c := dial(t, s.addr)
			_, _ = io.WriteString(c, text)
			if _, err := io.Copy(io.Discard, c); err != nil {
				t.Errorf("by %s, %s: got %v, want the end of the connection", way, name, err)
			}
			c.Close()
		}
	}
}
