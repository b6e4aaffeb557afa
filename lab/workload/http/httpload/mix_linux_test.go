package httpload

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// answers returns a handler that answers with a status and a body, in gzip if it is accepted.
func answers(status int, body string) nethttp.HandlerFunc {
	return func(w nethttp.ResponseWriter, r *nethttp.Request) {
		io.Copy(io.Discard, r.Body) //nolint:errcheck // the answer does not depend on it
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.WriteHeader(status)
			io.WriteString(w, body) //nolint:errcheck // the client sees it
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(status)
		z := gzip.NewWriter(w)
		io.WriteString(z, body) //nolint:errcheck // the client sees it
		z.Close()               //nolint:errcheck // the client sees it
	}
}

func sum(text string) string { s := sha256.Sum256([]byte(text)); return hex.EncodeToString(s[:]) }

// checkTests are checks of the body {"user": {"name": "Ann", "n": 3}, "items": [1, 2.5, null]}, and
// the kinds of errors that they find.
var checkTests = []struct {
	name    string
	request Request
	kind    string // empty: the body passes
}{
	{"no check", Request{}, ""},
	{"status", Request{Status: "201"}, kindStatus},
	{"class of statuses", Request{Status: "2xx"}, ""},
	{"another class", Request{Status: "4xx"}, kindStatus},
	{"the first body", Request{Check: Check{Same: true}}, ""},
	{"body", Request{Check: Check{Body: ref(checked)}}, ""},
	{"another body", Request{Check: Check{Body: ref(checked + " ")}}, kindBody},
	{"no body", Request{Check: Check{Body: ref("")}}, kindBody},
	{"length", Request{Check: Check{Length: ref(int64(len(checked)))}}, ""},
	{"another length", Request{Check: Check{Length: ref(int64(len(checked) + 1))}}, kindLength},
	{"hash", Request{Check: Check{SHA256: sum(checked)}}, ""},
	{"another hash", Request{Check: Check{SHA256: sum("x")}}, kindSHA256},
	{"hash and length", Request{Check: Check{SHA256: sum(checked), Length: ref(int64(3))}}, kindLength},
	{"match", Request{Check: Check{Match: `"name": "A[a-z]+"`}}, ""},
	{"no match", Request{Check: Check{Match: `^nothing`}}, kindMatch},
	{"JSON string", Request{Check: Check{JSON: []string{"user.name=Ann"}}}, ""},
	{"JSON number", Request{Check: Check{JSON: []string{"user.n=3", "items.1=2.50", "items.2=null"}}}, ""},
	{"JSON object", Request{Check: Check{JSON: []string{`user={"n": 3, "name": "Ann"}`, "items=[1,2.5,null]"}}}, ""},
	{"another JSON string", Request{Check: Check{JSON: []string{"user.name=Bob"}}}, kindJSON},
	{"a number is no string", Request{Check: Check{JSON: []string{`user.n="3"`}}}, kindJSON},
	{"no JSON member", Request{Check: Check{JSON: []string{"user.age=3"}}}, kindJSON},
	{"no JSON element", Request{Check: Check{JSON: []string{"items.3=3"}}}, kindJSON},
	{"a field of a number", Request{Check: Check{JSON: []string{"items.0.x=3"}}}, kindJSON},
	{"all checks", Request{Check: Check{Length: ref(int64(len(checked))), SHA256: sum(checked), Match: "Ann", JSON: []string{"user.n=3"}}}, ""},
	{"the last of all checks", Request{Check: Check{Length: ref(int64(len(checked))), SHA256: sum(checked), Match: "Ann", JSON: []string{"user.n=4"}}}, kindJSON},
}

const checked = `{"user": {"name": "Ann", "n": 3}, "items": [1, 2.5, null]}`

func TestEachCheckSeesItsFault(t *testing.T) {
	url := serveHTTP(t, answers(200, checked))
	for _, test := range checkTests {
		for _, gzip := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, gzip %v", test.name, gzip), func(t *testing.T) {
				c := Config{URL: url, Connections: 2, Requests: 10, Gzip: gzip, Mix: []Request{test.request}}
				checkKind(t, c, test.kind, 10)
			})
		}
	}
}

func TestBodiesThatCannotBeSearchedFail(t *testing.T) {
	search := []Request{{Check: Check{Match: "x"}}}
	for _, test := range []struct {
		name, body string
		check      Check
		kind       string
	}{
		{"as large as can be searched", strings.Repeat("x", MaxSearched), Check{Match: "x"}, ""},
		{"larger", strings.Repeat("x", MaxSearched+1), Check{Match: "x"}, kindBody},
		{"larger, hashed", strings.Repeat("x", MaxSearched+1), Check{SHA256: sum(strings.Repeat("x", MaxSearched+1)), Length: ref(int64(MaxSearched + 1))}, ""},
		{"not JSON", "<html>", Check{JSON: []string{"a=1"}}, kindJSON},
		{"more than one JSON value", `{"a":1} {}`, Check{JSON: []string{"a=1"}}, kindJSON},
		{"empty, hashed", "", Check{SHA256: sum("")}, ""},
		{"empty, with another hash", "", Check{SHA256: sum("x")}, kindSHA256},
	} {
		for _, gzip := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, gzip %v", test.name, gzip), func(t *testing.T) {
				url := serveHTTP(t, answers(200, test.body))
				checkKind(t, Config{URL: url, Connections: 1, Requests: 3, Gzip: gzip, Mix: []Request{{Check: test.check}}}, test.kind, 3)
			})
		}
	}
	t.Run("not gzip", func(t *testing.T) {
		url := rawServer(t, says("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx", false))
		checkKind(t, Config{URL: url, Connections: 1, Requests: 3, Gzip: true, Mix: search}, kindBody, 3)
	})
	t.Run("gzip that was not requested", func(t *testing.T) {
		url := rawServer(t, says("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx", false))
		checkKind(t, Config{URL: url, Connections: 1, Requests: 3, Mix: search}, kindBody, 3)
	})
}

// seen are the requests that a server received.
type seen struct {
	mu     sync.Mutex
	counts map[string]int // guarded by mu; by method, path, fields and body
}

func (s *seen) handle(w nethttp.ResponseWriter, r *nethttp.Request) {
	body, _ := io.ReadAll(r.Body) //nolint:errcheck // a short body is counted as another
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts == nil {
		s.counts = map[string]int{}
	}
	hash := sha256.Sum256(body)
	s.counts[fmt.Sprintf("%s %s %s %v %d %x", r.Method, r.URL, r.Host, r.Header["X-Test"], len(body), hash[:2])]++
	if w.Header().Set("Content-Type", "text/plain"); r.Method == "POST" {
		w.WriteHeader(201)
	}
	io.WriteString(w, "path "+r.URL.Path) //nolint:errcheck // the client sees it
}

// mixOfAll is a mix with every kind of request that seen.handle answers.
func mixOfAll() []Request {
	return []Request{
		{Weight: 5, Path: "/a?b=c", Check: Check{Body: ref("path /a")}},
		{Weight: 2, Method: "POST", Path: "/items", Headers: []string{"X-Test: 1", "X-Test: 2", "Host: other"}, Body: `{"id": 1}`, Status: "201", Check: Check{Match: "^path /items$"}},
		{Method: "PUT", Path: "/large", Body: strings.Repeat("0123456789abcdef", 20_000), Status: "2xx"},
		{Method: "DELETE", Path: "/d", Check: Check{Same: true}},
		{Method: "HEAD", Path: "/h", Check: Check{Body: ref("")}},
	}
}

// checkSeen checks that the server received n requests of mixOfAll, and one to learn from.
func checkSeen(t *testing.T, s *seen, n int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	total := 0
	for _, count := range s.counts {
		total += count
	}
	if len(s.counts) != 5 || total != n+1 {
		t.Errorf("the server received %v, want 5 kinds of requests, %d in all", s.counts, n+1)
	}
	for key := range s.counts {
		for _, part := range []string{"POST", "PUT"} {
			if strings.HasPrefix(key, part) && !strings.HasPrefix(key, "POST /items other [1 2] 9 ") && !strings.HasPrefix(key, "PUT /large 127.0.0.1:") {
				t.Errorf("the server received %q, want the request as it is described", key)
			}
		}
	}
}

func TestAMixIsSentAsDescribed(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"closed loop":              func(c *Config) { c.Requests = 100 },
		"no keep-alive":            func(c *Config) { c.Requests, c.Close = 100, true },
		"open loop":                func(c *Config) { c.Rate, c.Duration = 1000, 100*time.Millisecond },
		"open loop, no keep-alive": func(c *Config) { c.Rate, c.Duration, c.Close, c.Connections = 1000, 100*time.Millisecond, true, 200 },
	} {
		t.Run(name, func(t *testing.T) {
			s := &seen{}
			c := lenient(serveHTTP(t, s.handle))
			c.Mix, c.Expect = mixOfAll(), nil
			change(&c)
			r := mustRun(t, c)
			checkAnswered(t, r, 100)
			checkSeen(t, s, 100)
			checkMixReport(t, c, r)
		})
		t.Run("https, "+name, func(t *testing.T) {
			s := &seen{}
			c := secureServer(t, func(*httptest.Server) {}, s.handle)
			c.Mix, c.Expect = mixOfAll(), nil
			change(&c)
			checkAnswered(t, mustRun(t, c), 100)
			checkSeen(t, s, 100)
		})
	}
}

// checkMixReport checks that the requests of a mix have all answers of the report.
func checkMixReport(t *testing.T, c Config, r Report) {
	t.Helper()
	answered := int64(0)
	for _, m := range r.Mix {
		if answered += m.Answered; m.Failed != 0 || m.Answered > 0 && (m.LatencyMeanUS <= 0 || m.LatencyMaxUS < m.LatencyMeanUS) {
			t.Errorf("got %+v, want no failure, and a mean above 0 that is at most the maximum", m)
		}
	}
	if len(r.Mix) != len(c.Mix) || r.Mix[1].Request != "POST /items" || answered != r.Answered {
		t.Errorf("got %+v, want the %d requests of the mix with all %d answers", r.Mix, len(c.Mix), r.Answered)
	}
}

// TestAnAnswerBeforeTheWholeRequestClosesTheConnection checks that the rest of a body is not taken
// for the next request.
func TestAnAnswerBeforeTheWholeRequestClosesTheConnection(t *testing.T) {
	url := rawServer(t, func(c net.Conn) {
		head := make([]byte, 16)
		if _, err := io.ReadFull(c, head); err != nil {
			return
		}
		io.WriteString(c, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n") //nolint:errcheck // the client sees it
		io.Copy(io.Discard, c)                                                           //nolint:errcheck // until the client closes
	})
	large := Request{Method: "POST", Body: string(bytes.Repeat([]byte("x"), MaxBody)), Status: "413"}
	r := mustRun(t, Config{URL: url, Connections: 1, Requests: 5, Timeout: time.Minute, Mix: []Request{large}})
	if r.Messages != 5 || len(r.Errors) != 0 || r.Opened < 2 {
		t.Errorf("got %+v, want 5 answers on several connections", r)
	}
}
