package http

import (
	"strings"
	"testing"

	"weir/lab/contract"
	"weir/lab/internal/contracttest"
	"weir/lab/subject"
	"weir/lab/workload/http/httpload"
)

// faultyWebSubject returns the tests' HTTP server with a fault (empty: none).
func faultyWebSubject(t *testing.T, fault string, workloads ...string) *subject.Subject {
	t.Helper()
	return contracttest.Subject(t, `paradigm="goroutine per connection"
workloads=["`+strings.Join(workloads, `", "`)+`"]`, "web", "--fault", fault, "--listen", "{addr}", "--workload", "{workload}", "--www", "{www}", "--sleep-ms", "{sleep_ms}",
		"--sleep-every", "{sleep_every}", "--upstream", "{upstream}", "--gzip={gzip}", "--cert", "{cert}", "--key", "{key}")
}

// TestAServerThatPrintsWithoutEndIsKilled: its output would fill the disk.
func TestAServerThatPrintsWithoutEndIsKilled(t *testing.T) {
	t.Parallel()
	_, failed := outcomes(t, faultyWebSubject(t, "prints without end", Requests), Needs{Requests: []httpload.Request{{Path: pagePath}}})
	if want := "answer: standard output: expected at most 512 MiB, saw more, and killed the server"; len(failed) == 0 || failed[0] != want {
		t.Errorf("got failed %q, want the first to be %q", failed, want)
	}
}

func TestCorrectWebServerPasses(t *testing.T) {
	t.Parallel()
	contracttest.Passes(t, Contract, faultyWebSubject(t, "", "page", "files", "proxy"), contract.Options{Hosts: []string{"127.0.0.1"}})
	contracttest.Passes(t, Contract, faultyWebSubject(t, "", "page"), contract.Options{Hosts: []string{"::1"}, Only: []string{"body"}})
}

// TestAFieldMayBeLackingWhereTheSubjectSaysSo checks the key lacks: what it has must be true, and
// nothing else may be lacking.
func TestAFieldMayBeLackingWhereTheSubjectSaysSo(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fault string
		lacks []string
		want  string
	}{
		{"no ETag", []string{"ETag"}, ""},
		{"no ranges", []string{"Range"}, ""},
		{"never 304", []string{"304"}, ""},
		{"no ETag", []string{"Range"}, "expected the field ETag, saw none"},
		{"", []string{"ETag"}, "expected no ETag, because the subject.toml says lacks = [\"ETag\"], saw"},
		{"", []string{"Range"}, "expected no Range, because"},
	} {
		s := faultyWebSubject(t, test.fault, "files")
		s.Lacks = test.lacks
		found := contract.Run(t.Context(), s, []contract.Kind{Contract}, contract.Options{Hosts: []string{"127.0.0.1"}, Only: []string{"fields"}})
		if len(found) != 1 || (found[0].Err == nil) != (test.want == "") || found[0].Err != nil && !strings.Contains(found[0].Err.Error(), test.want) {
			t.Errorf("fault %q, lacks %q: got %+v, want an error with %q", test.fault, test.lacks, found, test.want)
		}
	}
}

// TestEveryWebFaultIsCaught: every fault is caught by its check, and every check of web servers
// catches a fault. The checks that servers of streams have too are tested with those.
func TestEveryWebFaultIsCaught(t *testing.T) {
	contracttest.Catches(t, Contract, faultyWebSubject, []contracttest.Fault{
		{"wrong length", "page", "body", "expected Content-Length 174"},
		{"wrong byte", "page", "body", "other ones from byte"},
		{"wrong type", "files", "body", `saw "text/plain"`},
		{"chatters", "files", "body", `standard output: expected none, saw 6 bytes: "ready\n"`},
		{"no ETag", "files", "fields", "expected the field ETag, saw none"},
		{"no Last-Modified", "files", "fields", "expected the field Last-Modified, saw none"},
		{"no Date", "files", "fields", "expected the field Date, saw none"},
		{"old Date", "files", "fields", "expected a Date from"},
		{"a Last-Modified of its own", "files", "fields", "expected the Last-Modified of the file"},
		{"the same ETag for all", "files", "fields", "expected different ETags"},
		{"never 304", "files", "fields", "If-None-Match: expected status 304, saw 200"},
		{"no ranges", "files", "fields", "Range: expected status 206, saw 200"},
		{"the wrong range", "files", "fields", "range: expected the 10 bytes from byte 5"},
		{"compresses for all clients", "files", "body", "expected Content-Length 174"},
		{"closes after 20", "page", "keep-alive", "request 21 on one connection"},
		{"closes when more comes along", "files", "pipelining", "request 2 of 7 in one write"},
		{"reads once", "page", "requests in pieces", "a request in single bytes: expected"},
		{"body after HEAD", "page", "HEAD", "after HEAD on the same connection"},
		{"finds everything", "files", "404", "expected status 404, saw 200"},
		{"closes after 404", "page", "404", "after a missing file"},
		{"never closes", "page", "Connection: close", "expected the server to close the connection"},
		{"wants a host", "page", "HTTP/1.0", "expected status 200, saw 400"},
		{"answers rubbish", "page", "rubbish", "expected status 400 or none"},
		{"dies of rubbish", "files", "rubbish", "exited early"},
		{"leaves bodies", "page", "POST", "after a POST with a body: expected status 200, saw 404"},
		{"takes 50", "page", "100 visitors", "on one of 100 connections"},
		{"one at a time", "page", "half a request", "with a client that has sent half a request"},
		{"reads the page once", "page", "from disk", "after the file was changed"},
		{"does not sleep", "page", "sleep", "expected a request to sleep for 200 ms"},
		{"does not sleep", "page", "sleep beside others", "expected request 10 to sleep"},
		{"sleeps for all", "page", "sleep beside others", "with a request that sleeps"},
		{"caches", "proxy", "upstream", "expected each response from the upstream"},
		{"connects for each request", "proxy", "upstream", "expected at most 8 connections to the upstream for 50 requests, saw 50"},
		{"hides the client", "proxy", "upstream", "expected X-Forwarded-For with the client's address 127.0.0.1"},
		{"does not compress", "files", "gzip", `expected Content-Encoding gzip, saw ""`},
		{"compresses for all clients", "files", "gzip", "expected Content-Encoding gzip"},
		{"does not encrypt", "files", "TLS", "GET https://"},
		{"encrypts by TLS 1.2", "files", "TLS", "protocol version"},
		{"has no X25519", "files", "TLS", "handshake failure"},
		{"drops at SIGTERM", "page", "SIGTERM while answering", "a response that was due"},
		{"sleeps on at SIGTERM", "page", "SIGTERM while answering", "was killed"},
		{"exits with 3", "page", "SIGTERM while answering", "exit status 3"},
		{"drops at SIGTERM", "files", "SIGTERM while sending", "a response that was due"},
		{"dies of SIGINT", "page", "SIGINT", "expected exit status 0, saw signal: interrupt"},
	}, "bad flags", "port in use")
}
