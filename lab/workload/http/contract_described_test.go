package http

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/lab/contract"
	"weir/lab/subject"
	"weir/lab/workload/http/httpload"
)

// hello is a load of the server in testdata/hello.
var hello = Needs{KeepAlive: true, Connections: 20, Requests: []httpload.Request{
	{Path: "/hello", Check: httpload.Check{Match: "^Hello, world!\n$"}},
	{Method: "POST", Path: "/hello?n=1", Body: "hello", Status: "405"},
}}

// ordinary returns a server that was not written for the lab as a subject.
func ordinary(t *testing.T, run ...string) *subject.Subject {
	t.Helper()
	words := `"` + strings.Join(run, `", "`) + `"`
	file := filepath.Join(t.TempDir(), "subject.toml")
	text := "name=\"ordinary\"\nlanguage=\"any\"\nparadigm=\"any\"\nworkloads=[\"requests\"]\nrun=[" + words + "]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := subject.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// buildHello builds the server in testdata/hello.
func buildHello(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "hello")
	if out, err := exec.Command("go", "build", "-o", file, "./testdata/hello").CombinedOutput(); err != nil {
		t.Fatalf("got error %v, want testdata/hello built: %s", err, out)
	}
	return file
}

// outcomes runs the checks of a load, and returns the names of those that passed and the errors of
// the others.
func outcomes(t *testing.T, s *subject.Subject, n Needs) (passed, failed []string) {
	t.Helper()
	o := contract.Options{Hosts: []string{"127.0.0.1"}, Timeout: 4 * time.Second}
	for _, found := range contract.Run(t.Context(), s, []contract.Kind{n.Contract()}, o) {
		switch {
		case found.Skipped != "":
			t.Errorf("%s: got it skipped (%s), want it run", found.Name, found.Skipped)
		case found.Err != nil:
			failed = append(failed, found.Name+": "+found.Err.Error())
		default:
			passed = append(passed, found.Name)
		}
	}
	return passed, failed
}

func TestAnOrdinaryServerIsCheckedForWhatTheLoadNeeds(t *testing.T) {
	t.Parallel()
	s := ordinary(t, buildHello(t), "{port}")
	passed, failed := outcomes(t, s, hello)
	if want := "answer, keep-alive, connections, clients that leave, SIGTERM"; strings.Join(passed, ", ") != want || failed != nil {
		t.Errorf("got passed %q and failed %q, want passed %s", passed, failed, want)
	}
	passed, failed = outcomes(t, s, Needs{Requests: hello.Requests})
	if want := "answer, clients that leave, SIGTERM"; strings.Join(passed, ", ") != want || failed != nil {
		t.Errorf("one request a connection: got passed %q and failed %q, want passed %s", passed, failed, want)
	}
}

// TestAServerWithoutKeepAlive: Python's speaks HTTP/1.0, so it suits only loads with a connection
// for each request.
func TestAServerWithoutKeepAliveSuitsLoadsWithoutIt(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	s := ordinary(t, "python3", "-m", "http.server", "--bind", "{host}", "--directory", "{www}", "{port}")
	n := Needs{Connections: 5, Requests: []httpload.Request{{Path: pagePath}, {Path: "/missing", Status: "404"}}}
	if passed, failed := outcomes(t, s, n); len(passed) != 4 || failed != nil {
		t.Errorf("without keep-alive: got passed %q and failed %q, want 4 passed", passed, failed)
	}
	n.KeepAlive = true
	_, failed := outcomes(t, s, n)
	if want := "keep-alive: request 2 on one connection: GET /missing: expected"; len(failed) != 1 || !strings.HasPrefix(failed[0], want) || !strings.HasSuffix(failed[0], "does not need this)") {
		t.Errorf("with keep-alive: got failed %q, want one that starts with %q", failed, want)
	}
}

func TestEveryNeedIsChecked(t *testing.T) {
	t.Parallel()
	page := Needs{KeepAlive: true, Connections: 60, Requests: []httpload.Request{{Path: pagePath}}}
	for _, test := range []struct{ fault, want string }{
		{"wrong length", "answer: GET /page.html: expected nothing after the response, saw 1 bytes"},
		{"closes after 20", "keep-alive: request 20 on one connection: GET /page.html: expected a response: the server "},
		{"takes 50", "connections: on one of 60 connections: GET /page.html: expected"},
		{"one at a time", "connections: on one of 60 connections: GET /page.html: expected"},
		{"dies of rubbish", "clients that leave: the server exited early"},
		{"exits with 3", "SIGTERM: after SIGTERM: faulty ended (exit status 3)"},
		{"sleeps on at SIGTERM", "SIGTERM: after SIGTERM: faulty did not end within 4s of SIGTERM and was killed"},
	} {
		_, failed := outcomes(t, faultyWebSubject(t, test.fault, Requests), page)
		if len(failed) == 0 || !strings.HasPrefix(failed[0], test.want) {
			t.Errorf("a server that %s: got failed %q, want the first to start with %q", test.fault, failed, test.want)
		}
	}
}

func TestAnotherResponseThanDescribedFails(t *testing.T) {
	t.Parallel()
	s := ordinary(t, buildHello(t), "{port}")
	for _, test := range []struct {
		request httpload.Request
		want    string
	}{
		{httpload.Request{Path: "/missing"}, "answer: GET /missing: expected status 200, saw 404 Not Found"},
		{httpload.Request{Path: "/hello", Check: httpload.Check{Match: "Bonjour"}}, `answer: GET /hello: its body does not match "Bonjour"`},
		{httpload.Request{Method: "NO METHOD", Path: "/hello"}, `answer: NO METHOD /hello: net/http: invalid method "NO METHOD"`},
	} {
		_, failed := outcomes(t, s, Needs{Requests: []httpload.Request{test.request}})
		if len(failed) == 0 || failed[0] != test.want {
			t.Errorf("got failed %q, want the first to be %q", failed, test.want)
		}
	}
}
