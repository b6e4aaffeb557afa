package main

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/lab/workload/grpc"
	"weir/lab/workload/websocket"
)

// echoCalls starts a gRPC server that answers each call by its own message, and returns the URL of
// a service. The method Missing has the status NOT_FOUND.
func echoCalls(t *testing.T) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		if strings.HasSuffix(r.URL.Path, "/Missing") {
			w.Header().Set("Grpc-Status", "5")
			return
		}
		io.Copy(w, r.Body) //nolint:errcheck // the client sees it
		w.Header().Set("Grpc-Status", "0")
	}))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	return s.URL + "/test.Echo/"
}

func TestLoadGRPCMakesCalls(t *testing.T) {
	url := echoCalls(t)
	file := filepath.Join(t.TempDir(), "message")
	writeFile(t, file, "\n\x02\xffx")
	for _, args := range [][]string{
		{"-n50", url + "Say"},
		{"-n50", "--streams=5", "--message=0a02ff78", "--reply=@" + file, url + "Say"},
		{"-n50", "--message=@" + file, "--same", url + "Say"},
		{"-n50", "--message=0a02ff78", "--reply-length=4", "--metadata=user: ann", url + "Say"},
		{"-n50", "--status=NOT_FOUND", url + "Missing"},
		{"--duration=50ms", "--rate=1000", "--pattern=poisson", "--streams=5", url + "Say"},
	} {
		out, err := commandLine(t, append([]string{"load", "grpc", "--timeout=1m"}, args...)...)
		if err != nil || !strings.Contains(out, "8 connections of HTTP/2 with") || !strings.Contains(out, "errors       none") {
			t.Errorf("%q: got error %v, want none, and no errors in\n%s", args, err, out)
		}
	}
	out, err := commandLine(t, "load", "grpc", "-n5", url+"Missing")
	if err == nil || !strings.Contains(err.Error(), "grpc NOT_FOUND (5)") || !strings.Contains(out, "status 5 NOT_FOUND: the server gives no reason") {
		t.Errorf("got error %v, want that five calls were not found, and why in\n%s", err, out)
	}
}

func TestLoadGRPCRefusesInvalidFlags(t *testing.T) {
	for want, args := range map[string][]string{
		"is not hexadecimal":            {"--message=x", "http://a/b.C/D"},
		"no such file":                  {"--message=@/there/is/no/such", "http://a/b.C/D"},
		`the status "99" is none of`:    {"--status=99", "http://a/b.C/D"},
		"is not metadata of a gRPC":     {"--metadata=content-type: a", "http://a/b.C/D"},
		"--rate is 0":                   {"--rate=0", "http://a/b.C/D"},
		"leave --rate and -n out":       {"--knee", "--rate=5", "http://a/b.C/D"},
		"a limit of 1h0m0s is out":      {"--knee", "--limit=1h", "http://a/b.C/D"},
		"leaves nothing else to check":  {"--same", "--reply-length=1", "http://a/b.C/D"},
		"is not of the web":             {"grpc://a/b.C/D"},
		"-1 streams on each of 8 conne": {"--streams=-1", "http://a/b.C/D"},
	} {
		_, err := commandLine(t, append([]string{"load", "grpc"}, args...)...)
		if !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got error %v, want bad usage with %q", args, err, want)
		}
	}
}

// TestDescribedLoadsAreThoseOfTheFlags checks that weir lab run and weir lab check take the same
// description.
func TestDescribedLoadsAreThoseOfTheFlags(t *testing.T) {
	for want, args := range map[string][]string{
		"--ws messages, and --grpc calls: give one": {"--get=/", "--grpc=/a.B/C"},
		"that --ws or --grpc describes: give one":   {"--get=/", "--message=00"},
		"go over HTTP/1.1: leave --http2 out":       {"--ws=/", "--http2"},
		"insecure accepts any certificate and ca":   {"--grpc=/a.B/C", "--http2", "--tls", "--insecure", "--ca=a.pem"},
		`the method "a.B/C" is invalid`:             {"--grpc=a.B/C"},
		`the body "0" is not hexadecimal`:           {"--grpc=/a.B/C", "--message=0"},
		"cannot read the body of a request":         {"--grpc=/a.B/C", "--message=@/there/is/no/such"},
		"cannot read the described requests":        {"--mix=/there/is/no/such"},
		`the path "x" is not the target of a reque`: {"--get=x"},
	} {
		for _, command := range []string{"run", "check"} {
			_, err := commandLine(t, append([]string{"lab", command, "--subject=a=./a {port}"}, args...)...)
			if !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), want) {
				t.Errorf("lab %s %q: got error %v, want bad usage with %q", command, args, err, want)
			}
		}
	}
}

// TestAMessageIsTextOrHexadecimal checks that --message has the meaning of the load that it is of,
// and that --http2 changes nothing about calls.
func TestAMessageIsTextOrHexadecimal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "message")
	if err := os.WriteFile(file, []byte("\n\x02\xffx"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		flags describedFlags
		want  string
	}{
		{describedFlags{WS: "/", Message: "@0a02"}, "@0a02"},
		{describedFlags{GRPC: "/a.B/C", Message: "0a02", HTTP2: true}, "0a02"},
		{describedFlags{GRPC: "/a.B/C", Message: "@" + file}, "0a02ff78"},
	} {
		c := runCmd{describedFlags: test.flags}
		c.Experiment = test.flags.experiment()
		e, err := c.experiment()
		if err != nil {
			t.Errorf("%+v: got error %v, want an experiment", test.flags, err)
			continue
		}
		got := ""
		switch l := e.Loads[0].(type) {
		case *websocket.Load:
			got = l.Message
		case *grpc.Load:
			got = l.Message
		}
		if got != test.want {
			t.Errorf("%+v: got the message %q, want %q", test.flags, got, test.want)
		}
	}
}
