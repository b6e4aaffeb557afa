package websocket

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"weir/lab/contract"
	"weir/lab/subject"
	"weir/lab/workload"
	labhttp "weir/lab/workload/http"
)

// talk is a WebSocket server that echoes, except for its fault. It serves by TLS if it is given a
// certificate.
func talk(addr, fault, cert, key string) int {
	var open atomic.Int64
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fault == "refuses" || fault == "takes ten" && open.Add(1) > 10 {
			http.NotFound(w, r)
			return
		}
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			if fault == "dies of rubbish" {
				os.Exit(3)
			}
			return
		}
		defer c.CloseNow()
		for k := 0; ; k++ {
			kind, text, err := c.Read(r.Context())
			switch {
			case err != nil:
				return
			case fault == "changes the tenth" && k == 9, fault == "answers":
				text = []byte("welcome")
			case fault == "is silent":
				continue
			case fault == "hangs up":
				return
			case fault == "sends without end":
				w, err := c.Writer(r.Context(), kind)
				for err == nil {
					_, err = w.Write(make([]byte, 1<<20))
				}
				return
			}
			if c.Write(r.Context(), kind, text) != nil {
				return
			}
		}
	})
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return 1
	}
	stop := make(chan os.Signal, 1) // from the runtime; one is enough
	signal.Notify(stop, syscall.SIGTERM)
	server := &http.Server{Handler: h}
	go func() {
		if cert == "" {
			_ = server.Serve(l) // ends with the process
		} else {
			_ = server.ServeTLS(l, cert, key)
		}
	}()
	<-stop
	if fault == "exits with 3" {
		return 3
	}
	return 0
}

// server returns the server of talk as a subject.
func server(t *testing.T, fault string, secured bool) *subject.Subject {
	t.Helper()
	cert, key := "", ""
	if secured {
		cert, key = "{cert}", "{key}"
	}
	text := fmt.Sprintf("name=\"talk\"\nlanguage=\"Go\"\nparadigm=\"any\"\nworkloads=[%q]\nrun=[%q, \"talk\", \"{addr}\", %q, %q, %q]\n", Name, os.Args[0], fault, cert, key)
	file := filepath.Join(t.TempDir(), "subject.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := subject.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// outcomes runs the checks of a load, and returns the names of those that passed and the errors of
// those that failed.
func outcomes(t *testing.T, s *subject.Subject, l Load) (passed, failed []string) {
	t.Helper()
	l.Name = "messages"
	if bad := l.Check(workload.Context{Workload: Name, Connections: []int{20}}); bad != "" {
		t.Fatalf("got %q, want a valid load", bad)
	}
	o := contract.Options{Hosts: []string{"127.0.0.1"}, Timeout: 4 * time.Second}
	for _, found := range contract.Run(t.Context(), s, []contract.Kind{l.Contract(20)}, o) {
		switch {
		case found.Err != nil:
			failed = append(failed, found.Name+": "+found.Err.Error())
		case found.Skipped == "":
			passed = append(passed, found.Name)
		}
	}
	return passed, failed
}

func TestAServerThatAnswersPassesTheContract(t *testing.T) {
	t.Parallel()
	want := []string{"upgrade", "answers", "connections", "clients that leave", "SIGTERM"}
	for _, test := range []struct {
		what, behaviour string
		load            Load
	}{
		{"echoes of bytes", "echoes", Load{}},
		{"echoes of a text", "echoes", Load{Message: "hello", Echo: true, Path: "/a?b=c", Headers: []string{"X-Room: a"}}},
		{"any answer", "answers", Load{Message: "hello"}},
		{"by TLS", "echoes", Load{Encryption: labhttp.Encryption{TLS: true}}},
	} {
		passed, failed := outcomes(t, server(t, test.behaviour, test.load.TLS), test.load)
		if !slices.Equal(passed, want) || failed != nil {
			t.Errorf("%s: got passed %q and failed %q, want passed %q", test.what, passed, failed, want)
		}
	}
}

func TestEachFaultFailsItsCheck(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fault string
		load  Load
		want  string
	}{
		{"refuses", Load{}, "upgrade: expected an upgrade of /: "},
		{"is silent", Load{}, "upgrade: message 1: expected an answer: "},
		{"hangs up", Load{}, "upgrade: message 1: expected an answer: the server closed the connection"},
		{"answers", Load{Message: "hello", Echo: true}, `upgrade: message 1: expected its echo "hello" (MessageText), saw "welcome" (MessageText)`},
		{"changes the tenth", Load{}, "answers: message 10: expected its echo "},
		{"takes ten", Load{}, "connections: expected an upgrade of /: "},
		{"exits with 3", Load{}, "SIGTERM: after SIGTERM: talk ended (exit status 3)"},
		{"echoes", Load{Encryption: labhttp.Encryption{TLS: true, Insecure: true}}, "upgrade: TLS handshake failed: the server does not speak TLS on this port"},
	} {
		_, failed := outcomes(t, server(t, test.fault, false), test.load)
		if len(failed) == 0 || !strings.HasPrefix(failed[0], test.want) {
			t.Errorf("a server that %s: got failed %q, want the first to start with %q", test.fault, failed, test.want)
		}
	}
}

// TestAMessageWithoutEndIsNotKept: the checks of many connections would use up the memory.
func TestAMessageWithoutEndIsNotKept(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, failed := outcomes(t, server(t, "sends without end", false), Load{})
	runtime.ReadMemStats(&after)
	if want := "upgrade: message 1: expected an answer: nothing more within the time allowed"; len(failed) == 0 || failed[0] != want {
		t.Errorf("got failed %q, want the first to be %q", failed, want)
	}
	if used := int64(after.HeapSys - before.HeapSys); used > 256<<20 {
		t.Errorf("got %d MiB more of memory in use, want a part of the message only", used>>20)
	}
}
