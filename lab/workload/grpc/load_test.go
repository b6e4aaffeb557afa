package grpc

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/lab/load"
	"weir/lab/result"
	"weir/lab/workload"
)

func TestInvalidLoadsAreRejectedWithARemedy(t *testing.T) {
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, make([]byte, maxSize+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Load){
		"":                                   func(*Load) {},
		`the method "" is invalid`:           func(l *Load) { l.Method = "" },
		`the method "a.B/C" is invalid`:      func(l *Load) { l.Method = "a.B/C" },
		`the method "/a.B" is invalid`:       func(l *Load) { l.Method = "/a.B" },
		`the method "/a.B/C?d" is invalid`:   func(l *Load) { l.Method = "/a.B/C?d" },
		"a rate of 1e+06 calls a second":     func(l *Load) { l.Rate = 1e6 },
		`the pattern "even" is unknown`:      func(l *Load) { l.Rate, l.Arrivals = 1, "even" },
		"a closed loop has no arrival":       func(l *Load) { l.Arrivals = load.Poisson },
		"streams must be from 1 to 1000":     func(l *Load) { l.Streams = 1001 },
		"and at most 100000 on all 200":      func(l *Load) { l.Streams = 600 },
		"a size of 4194305 bytes":            func(l *Load) { l.Message, l.Size = "", maxSize+1 },
		"each give the message":              func(l *Load) { l.Size = 1 },
		`the body "0a0" is not hexadecimal`:  func(l *Load) { l.Message = "0a0" },
		`the body "reply" is not hexadec`:    func(l *Load) { l.Reply = "reply" },
		"no such file":                       func(l *Load) { l.Message, l.MessageFile = "", "/there/is/no/such" },
		"has 4194305 bytes: give at most":    func(l *Load) { l.Message, l.MessageFile = "", large },
		`the status "17" is none of a gRPC`:  func(l *Load) { l.Status = "17" },
		"field Content-Type is not metadata": func(l *Load) { l.Metadata = []string{"Content-Type: text/html"} },
		"leaves nothing else to check":       func(l *Load) { l.ReplyLength = new(int64(1)) },
		`the SHA-256 "12" is invalid`:        func(l *Load) { l.Reply, l.ReplySHA256 = "", "12" },
		"insecure accepts any certificate":   func(l *Load) { l.Insecure, l.CA = true, "a.pem" },
		"2 is given twice":                   func(l *Load) { l.Connections = []int{2, 2} },
	} {
		l := greeting()
		change(l)
		got := l.Check(workload.Context{Workload: Name, Connections: []int{200}})
		if (got == "") != (want == "") || !strings.Contains(got, want) || strings.Contains(got, "load: ") {
			t.Errorf("got %q, want one with %q", got, want)
		}
	}
}

// TestAFileIsReadOnce checks that the message of a file is part of the load, so that a resumed run
// sends the same.
func TestAFileIsReadOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "message")
	if err := os.WriteFile(file, []byte("\n\x02\xffx"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := &Load{Method: "/a.B/C", MessageFile: file}
	for range 2 {
		if bad := l.Check(workload.Context{Connections: []int{1}}); bad != "" || l.Message != "0a02ff78" || l.MessageFile != "" {
			t.Errorf("got %q, message %q of the file %q; want it valid with the bytes of the file", bad, l.Message, l.MessageFile)
		}
	}
}

// TestASizeIsThatOfAString checks the encoding of protobuf: a tag, a length in groups of seven
// bits, and the string.
func TestASizeIsThatOfAString(t *testing.T) {
	for size, head := range map[int]string{1: "\n\x01", 127: "\n\x7f", 128: "\n\x80\x01", 16384: "\n\x80\x80\x01"} {
		if got, want := stringMessage(size), head+strings.Repeat("x", size); got != want {
			t.Errorf("%d bytes: got a message of %d bytes that starts with %.5q, want %d and %q", size, len(got), got, len(want), head)
		}
	}
}

func TestLoadsAreCommandsOfTheGenerator(t *testing.T) {
	dir := t.TempDir()
	l := greeting()
	l.Rate, l.Arrivals, l.Streams = 40, load.Poisson, 8
	l.Metadata = []string{"user: ann"}
	v, err := Workload{}.Open(t.Context(), &workload.Site{Workload: Name, Dir: dir, Host: "127.0.0.1"}, []workload.Load{l})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	got := strings.Join(v.Args(l, workload.Cell{Connections: 10}, workload.Target{Addr: "127.0.0.1:80", Seed: 7}), " ")
	want := "http --steer --connections 10 --rate 400 --pattern poisson --seed 7 --http2 --streams 8 --mix " + filepath.Join(dir, "requests1.toml") + " http://127.0.0.1:80/helloworld.Greeter/SayHello"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	l.Insecure, l.ServerName = true, "example.org"
	got = strings.Join(v.Args(l, workload.Cell{Connections: 10}, workload.Target{Addr: "127.0.0.1:80", Seed: 7, TLS: true, OwnCertificate: true}), " ")
	want = "--insecure --server-name example.org --key-exchange X25519 https://127.0.0.1:80/helloworld.Greeter/SayHello"
	if !strings.HasSuffix(got, want) {
		t.Errorf("by TLS: got %q, want it to end with %q", got, want)
	}
	text, err := os.ReadFile(filepath.Join(dir, "requests1.toml"))
	for _, want := range []string{"path = '/helloworld.Greeter/SayHello'", "grpc = true", "headers = ['user: ann']", "world", "Hello world"} {
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("got the requests %s, error %v; want %q in them", text, err, want)
		}
	}
}

// TestOverloadIsNoFailureAtARate checks which statuses are wrong answers.
func TestOverloadIsNoFailureAtARate(t *testing.T) {
	v, err := Workload{}.Open(t.Context(), &workload.Site{Workload: Name, Dir: t.TempDir(), Host: "127.0.0.1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for _, test := range []struct {
		kind, pattern string
		wrong, slow   int
	}{
		{"grpc UNAVAILABLE", result.Closed, 0, 1}, {"grpc UNAVAILABLE", load.Poisson, 0, 0}, {"grpc RESOURCE_EXHAUSTED", result.Closed, 0, 1}, {"timeout", load.Poisson, 0, 0},
		{"grpc INTERNAL", load.Poisson, 1, 0}, {"grpc no status", load.Poisson, 1, 0}, {"message", result.Closed, 1, 0}, {"body", result.Closed, 1, 0},
	} {
		wrong, slow := v.Failures(&result.Trial{Pattern: test.pattern}, workload.Evidence{Errors: map[string]int64{test.kind: 3}})
		if len(wrong) != test.wrong || len(slow) != test.slow {
			t.Errorf("%s, %s: got wrong %q and slow %q, want %d and %d", test.kind, test.pattern, wrong, slow, test.wrong, test.slow)
		}
	}
}

// TestACellOfCallsIsSplit: each share is one of calls, which the session has arguments for.
func TestACellOfCallsIsSplit(t *testing.T) {
	l := greeting()
	l.Rate = 2
	v, err := Workload{}.Open(t.Context(), &workload.Site{Workload: Name, Dir: t.TempDir(), Host: "127.0.0.1"}, []workload.Load{l})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	shares, err := v.(workload.Splitter).Split(l, workload.Cell{Connections: 5}, 2)
	if err != nil || len(shares) != 2 {
		t.Fatalf("got %d shares and error %v, want 2 shares", len(shares), err)
	}
	for i, want := range []string{"--connections 3 --rate 6 ", "--connections 2 --rate 4 "} {
		got := strings.Join(v.Args(shares[i].Load, shares[i].Cell, workload.Target{Addr: "127.0.0.1:80"}), " ")
		if !strings.Contains(got, want) || !strings.Contains(got, "requests1.toml") {
			t.Errorf("share %d: got %q, want %q and the described call in it", i, got, want)
		}
	}
	part := json.RawMessage(`{"attempted":10,"messages":9,"latency_us":{},"lateness_us":{}}`)
	if _, err := v.(workload.Splitter).Merge([]json.RawMessage{part}); err != nil {
		t.Errorf("got error %v, want merged reports of calls", err)
	}
}
