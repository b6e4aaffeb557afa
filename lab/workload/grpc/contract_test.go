package grpc

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/lab/contract"
	"weir/lab/internal/certificate"
	"weir/lab/internal/contracttest"
	"weir/lab/load"
	"weir/lab/subject"
	"weir/lab/workload/http/httpload"
)

// faulty returns the tests' gRPC server with a fault (empty: none).
func faulty(t *testing.T, fault string, _ ...string) *subject.Subject {
	t.Helper()
	return contracttest.Subject(t, "paradigm=\"any\"\nworkloads=[\"grpc\"]", "serve", "{addr}", fault)
}

// many is the contract of the greeting with several streams.
func many() contract.Kind {
	l := greeting()
	l.Streams = 10
	return l.Contract(40)
}

func TestACorrectServerPasses(t *testing.T) {
	t.Parallel()
	contracttest.Passes(t, many(), faulty(t, ""), contract.Options{})
	contracttest.Passes(t, Workload{}.Contract(), faulty(t, ""), contract.Options{Hosts: []string{"127.0.0.1"}})
}

func TestAnExpectedErrorPasses(t *testing.T) {
	t.Parallel()
	l := &Load{Method: "/helloworld.Greeter/SayHello", Status: "UNAVAILABLE"}
	contracttest.Passes(t, l.Contract(1), faulty(t, "status 14"), contract.Options{Hosts: []string{"127.0.0.1"}})
}

// TestCallsByTLSAreChecked: with the lab's certificate, and with one of the server's own, which is
// trusted only if the load says so.
func TestCallsByTLSAreChecked(t *testing.T) {
	t.Parallel()
	o := contract.Options{Hosts: []string{"127.0.0.1"}}
	l := greeting()
	l.TLS, l.Streams = true, 5
	const words = "paradigm=\"any\"\nworkloads=[\"grpc\"]"
	contracttest.Passes(t, l.Contract(3), contracttest.Subject(t, words, "serve", "{addr}", "", "{cert}", "{key}"), o)
	files, err := certificate.Create(t.TempDir(), "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	own := contracttest.Subject(t, words, "serve", "{addr}", "", files.Cert, files.Key)
	found := contract.Run(t.Context(), own, []contract.Kind{l.Contract(3)}, o)
	if err := found[0].Err; err == nil || !strings.Contains(err.Error(), "the server's certificate is not trusted") {
		t.Errorf("an unknown certificate: got error %v, want that it is not trusted", err)
	}
	l.CA = files.Cert
	contracttest.Passes(t, l.Contract(3), own, o)
	l.CA, l.Insecure = "", true
	contracttest.Passes(t, l.Contract(3), own, o)
}

func TestEveryFaultIsCaught(t *testing.T) {
	contracttest.Catches(t, many(), faulty, []contracttest.Fault{
		{"HTTP/1.1", Name, "answer", "expected a response by HTTP/2"},
		{"404", Name, "answer", "expected HTTP status 200, saw 404 Not Found"},
		{"another type", Name, "answer", `expected Content-Type application/grpc, saw "text/plain"`},
		{"status 14", Name, "answer", `expected status 0 OK, saw 14 UNAVAILABLE: "busy"`},
		{"status 99", Name, "answer", `expected a grpc-status from 0 to 16, saw "99"`},
		{"no message", Name, "answer", "expected a message with a prefix of 5 bytes, saw 0 bytes"},
		{"nothing whatever", Name, "answer", "expected grpc-status in the trailers, saw none"},
		{"no trailers", Name, "answer", "expected grpc-status in the trailers, saw none"},
		{"compressed", Name, "answer", "expected a message that is not compressed"},
		{"a longer prefix", Name, "answer", "expected one message, saw a length of 2 before 1 bytes"},
		{"two messages", Name, "answer", "expected one message, saw a length of 1 before 7 bytes"},
		{"another message", Name, "answer", "expected the body"},
		{"answers 20", Name, "keep-alive", "request 21 on one connection: POST /helloworld.Greeter/SayHello: expected status 0 OK, saw 8 RESOURCE_EXHAUSTED"},
		{"one at a time", Name, "streams", "on one of 10 streams: POST /helloworld.Greeter/SayHello: expected status 0 OK, saw 8"},
		{"takes 20", Name, "connections", "on one of 40 connections: POST /helloworld.Greeter/SayHello: expected"},
		{"dies of clients that leave", Name, "clients that leave", "the server exited early"},
		{"exits with 3", Name, "SIGTERM", "exit status 3"},
		{"sleeps on at SIGTERM", Name, "SIGTERM", "did not end within 4s of SIGTERM and was killed"},
	})
}

// TestGRPCGoAnswersCallsAndPasses is a round trip with the server of another project, if it can be
// built on this machine.
func TestGRPCGoAnswersCallsAndPasses(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "grpc-go")
	if out, err := exec.Command("go", "build", "-C", "../../../subjects/grpc-go/server", "-o", program, ".").CombinedOutput(); err != nil {
		t.Skipf("grpc-go cannot be built: %s", out)
	}
	for _, transport := range []string{"--net-http=false", "--net-http"} {
		s, err := subject.FromCommands("grpc-go", subject.Commands{Dir: t.TempDir(), Run: []string{program, "--workload", "{workload}", "--listen", "{addr}", transport}, Workloads: []string{Name}})
		if err != nil {
			t.Fatal(err)
		}
		k := many()
		k.Checks = append(k.Checks, contract.Check{Name: "load", Run: offerLoads})
		contracttest.Passes(t, k, s, contract.Options{Hosts: []string{"127.0.0.1"}, Timeout: 10 * time.Second})
	}
}

// offerLoads offers loads of every kind of answer to the server of a check.
func offerLoads(b *contract.Bench) {
	large := &Load{Method: greeting().Method, Size: 100_000, ReplyLength: new(int64(100_010))}
	for _, test := range []struct {
		load *Load
		kind string // of the errors; empty: none
	}{
		{greeting(), ""},
		{large, ""},
		{&Load{Method: greeting().Method, Message: greeting().Message, Same: true}, ""},
		{&Load{Method: "/helloworld.Greeter/Other", Status: "UNIMPLEMENTED"}, ""},
		{&Load{Method: "/helloworld.Greeter/Other"}, "grpc UNIMPLEMENTED"},
		{&Load{Method: greeting().Method, Message: "0a"}, "grpc INTERNAL"},
		{&Load{Method: greeting().Method, Size: 4 << 20}, "grpc RESOURCE_EXHAUSTED"},
	} {
		c := httpload.Config{URL: "http://" + b.Addr() + test.load.Method, Mix: test.load.requests().Mix, HTTP2: true, Connections: 2, Streams: 5, Requests: 40}
		r, err := httpload.Run(b.Context, c, load.Events{})
		contract.Must(err)
		want := int64(40)
		if test.kind != "" {
			want = 0
		}
		contract.Expect(r.Messages == want && r.Errors[test.kind] == 40-want && len(r.Errors) <= 1, "%+v: expected %d answers and the error %q, saw %d, %v %q", test.load, want, test.kind, r.Messages, r.Errors, strings.Join(r.Details, "; "))
	}
}
