package httpload

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	nethttp "net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pelletier/go-toml/v2"

	"weir/lab/load"
)

func ref[T any](v T) *T { return &v }

func TestInvalidRequestsAreRejectedWithAReason(t *testing.T) {
	for want, r := range map[string]Request{
		"a weight of -1":                       {Weight: -1},
		"a weight of 1000001":                  {Weight: MaxWeight + 1},
		"is not a token":                       {Method: "GE T"},
		"of at most 32 letters":                {Method: strings.Repeat("A", 33)},
		"CONNECT makes a tunnel":               {Method: "CONNECT"},
		`the path "x" is invalid`:              {Path: "x"},
		`the path "/a b" is invalid`:           {Path: "/a b"},
		`the path "/a#b" is invalid`:           {Path: "/a#b"},
		`the path "/%zz" is invalid`:           {Path: "/%zz"},
		"use at most 8192 bytes":               {Path: "/" + strings.Repeat("a", MaxPath)},
		"has 101 header fields":                {Headers: make([]string, MaxHeaders+1)},
		"header field 1 has no valid name":     {Headers: []string{"x"}},
		"header field 2 has no valid name":     {Headers: []string{"A: b", "x y: z"}},
		"the value of the header field A is":   {Headers: []string{"A: b\r\nC: d"}},
		"field Content-Length is the gener":    {Headers: []string{"Content-Length: 1"}},
		"field upgrade is the generator's":     {Headers: []string{"upgrade: h2c"}},
		"Accept-Encoding is the generator":     {Headers: []string{"Accept-Encoding: br"}},
		"Host is invalid or given twice":       {Headers: []string{"Host: a", "host: b"}},
		"its body is given twice":              {Body: "x", BodyFile: "y"},
		"or \"body_hex\" was not read":         {Body: "x", BodyHex: "00"},
		"the status \"200\" is none of a gRPC": {GRPC: true, Status: "200"},
		"a gRPC call is a POST":                {GRPC: true, Method: "GET"},
		"field Content-Type is not metadata":   {GRPC: true, Headers: []string{"Content-Type: text/html"}},
		"its body has 16777217 bytes":          {Body: strings.Repeat("x", MaxBody+1)},
		`the status "20" is none`:              {Status: "20"},
		`the status "1xx" is none`:             {Status: "1xx"},
		`the status "abc" is none`:             {Status: "abc"},
		`the status "+20" is none`:             {Status: "+20"},
		"its expected body is given twice":     {Check: Check{BodyFile: "x", Body: ref("y")}},
		"its expected body has 16777217":       {Check: Check{Body: ref(strings.Repeat("x", MaxBody+1))}},
		"and also that of the first answer":    {Check: Check{Same: true, Body: ref("x")}},
		"leaves nothing else to check":         {Check: Check{Same: true, Match: "x"}},
		"a length of -1":                       {Check: Check{Length: ref[int64](-1)}},
		`the SHA-256 "12" is invalid`:          {Check: Check{SHA256: "12"}},
		"regular expression is invalid":        {Check: Check{Match: "("}},
		"expression has 4097 bytes":            {Check: Check{Match: strings.Repeat("x", MaxPattern+1)}},
		`the JSON field "x" is invalid`:        {Check: Check{JSON: []string{"x"}}},
		`the JSON field "a\\b=1" is inv`:       {Check: Check{JSON: []string{`a\b=1`}}},
		"it checks 101 JSON fields":            {Check: Check{JSON: make([]string, MaxFields+1)}},
		`request 2 (POST /x): a weight of -2`:  {Method: "POST", Path: "/x", Weight: -2},
	} {
		mix := []Request{{Status: "2xx"}, r}
		err := CheckMix(mix)
		if !errors.Is(err, load.ErrUsage) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want a usage error with %q", err, want)
		}
	}
	if err := CheckMix(make([]Request, MaxMix+1)); err == nil || !strings.Contains(err.Error(), "1001 described requests") {
		t.Errorf("got %v, want that 1001 requests are too many", err)
	}
	large := Request{Body: strings.Repeat("x", MaxBody)}
	if err := CheckMix([]Request{large, large, large, large, {Body: "x"}}); err == nil || !strings.Contains(err.Error(), "more than 67108864 bytes") {
		t.Errorf("got %v, want that all bodies are too large", err)
	}
	if err := CheckMix([]Request{{Headers: []string{"Authorization: secret\x01"}}}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v, want an error without the value of the field", err)
	}
}

func TestAnExpectedBodyIsOfOneRequest(t *testing.T) {
	good := Config{URL: "http://a/", Connections: 1, Requests: 1, Expect: []byte("x")}
	for want, mix := range map[string][]Request{
		"":                             {{Method: "POST"}},
		"is of one request":            {{}, {}},
		"leaves nothing else to check": {{Check: Check{Match: "x"}}},
	} {
		c := good
		c.Mix = mix
		if err := c.Check(false); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestStatusesAndClasses(t *testing.T) {
	for text, want := range map[Status][2]int{"": {200, 200}, "200": {200, 200}, "404": {404, 404}, "2xx": {200, 299}, "9xx": {900, 999}} {
		if low, high, ok := text.span(); !ok || low != want[0] || high != want[1] {
			t.Errorf("%q: got %d to %d, %v; want %v", text, low, high, ok, want)
		}
	}
}

const exampleMix = `
[[request]]
weight = 9
path = "/list?page=2"
headers = ["Accept: application/json"]
check = { json = ["items.0.id=7"], length = 20 }

[[request]]
method = "POST"
path = "/items"
body = '{"id": 8}'
status = 201

[[request]]
method = "PUT"
path = "/file"
body_file = "upload"
status = "2xx"
[request.check]
body_file = "answer"
`

func TestFilesOfRequestsAreRead(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"mix.toml": exampleMix, "upload": "u", "answer": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ReadMix(filepath.Join(dir, "mix.toml"))
	want := []Request{
		{Weight: 9, Path: "/list?page=2", Headers: []string{"Accept: application/json"}, Check: Check{JSON: []string{"items.0.id=7"}, Length: ref[int64](20)}},
		{Method: "POST", Path: "/items", Body: `{"id": 8}`, Status: "201"},
		{Method: "PUT", Path: "/file", Body: "u", Status: "2xx", Check: Check{Body: ref("")}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, error %v; want %+v", got, err, want)
	}
}

func TestInvalidFilesOfRequestsAreRejected(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "it has no request",
		"[[request]]\nwait = 1":               `line 2: there is no setting "request.wait"`,
		"[[request]]\npath = 1":               "line 2, column",
		"[[request":                           "line 1, column",
		"[[request]]\npath = 'x'":             `request 1 (GET x): the path "x"`,
		"[[request]]\nbody_file = 'none'":     "no such file",
		"[[request]]\nbody_file = '.'":        "is not a file",
		"[[request]]\nstatus = 99":            `the status "99"`,
		"[[request]]\n[request.check]\nbdy=1": `there is no setting "request.check.bdy"`,
	} {
		name := filepath.Join(t.TempDir(), "mix.toml")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadMix(name)
		if !errors.Is(err, load.ErrUsage) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %v, want a usage error of one line with %q", text, err, want)
		}
	}
	large := filepath.Join(t.TempDir(), "large.toml")
	if err := os.WriteFile(large, bytes.Repeat([]byte("#"), MaxMixFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadMix(large); err == nil || !strings.Contains(err.Error(), "at most 4194304 are allowed") {
		t.Errorf("a large file: got %v, want that it is too large", err)
	}
}

// FuzzMix checks that an accepted file of requests is the same after writing and reading it, and
// that net/http reads each of its requests as it was described.
func FuzzMix(f *testing.F) {
	f.Add([]byte(exampleMix))
	f.Add([]byte("[[request]]\ngrpc = true\nbody_hex = '00ff'\nstatus = 'NOT_FOUND'"))
	f.Add([]byte("[[request]]\nheaders=['Host: b','A:', 'A: c']\n[request.check]\nsame=true"))
	f.Fuzz(func(t *testing.T, text []byte) {
		mix, err := ParseMix(text)
		if err != nil {
			return
		}
		written, err := toml.Marshal(mixFile{mix})
		if err != nil {
			t.Fatalf("%+v cannot be written: %v", mix, err)
		}
		again, err := ParseMix(written)
		if rewritten, err2 := toml.Marshal(mixFile{again}); err != nil || err2 != nil || !bytes.Equal(written, rewritten) {
			t.Errorf("%+v: got %+v, errors %v and %v, after writing and reading; want the same", mix, again, err, err2)
		}
		if CheckMix(mix) != nil {
			return
		}
		c := Config{URL: "http://host/", Mix: mix}
		for i, p := range c.prepare() {
			checkWire(t, &mix[i], p.wire)
		}
	})
}

// checkWire checks that net/http reads wire as the request r.
func checkWire(t *testing.T, r *Request, wire []byte) {
	t.Helper()
	rest := bufio.NewReader(bytes.NewReader(wire))
	got, err := nethttp.ReadRequest(rest)
	if err != nil {
		t.Fatalf("%+v: net/http rejects %q with %v, want none", r, wire, err)
	}
	body, err := io.ReadAll(got.Body)
	if err != nil || string(body) != r.Body || got.Method != r.method() || r.Path != "" && got.RequestURI != r.Path || rest.Buffered() != 0 {
		t.Errorf("%+v: net/http reads %s %q with %q, error %v, and has %d bytes left", r, got.Method, got.RequestURI, body, err, rest.Buffered())
	}
	for _, given := range r.Headers {
		name, value, _ := cutHeader(given)
		values := got.Header.Values(name)
		if strings.EqualFold(name, "host") {
			values = []string{got.Host}
		}
		if len(values) == 0 || !strings.EqualFold(name, "user-agent") && !strings.EqualFold(name, "accept") && !slices.Contains(values, value) {
			t.Errorf("%q: net/http reads the field %s as %q", wire, name, values)
		}
	}
}

// TestTheOrderOfAMixDependsOnItsSeed checks that choices repeat, differ by seed, and have the
// shares of their weights.
func TestTheOrderOfAMixDependsOnItsSeed(t *testing.T) {
	c := Config{URL: "http://a/", Mix: []Request{{Path: "/0", Weight: 1}, {Path: "/1", Weight: 3}, {Path: "/2", Weight: 6}}}
	const n = 100_000
	order := func(seed uint64) (paths string, counts map[string]int) {
		m, counts := newMixer(c.prepare(), seed), map[string]int{}
		var b strings.Builder
		for k := range uint64(n) {
			p := m.choose(int(k%7), k/7).Path
			b.WriteString(p)
			counts[p]++
		}
		return b.String(), counts
	}
	first, counts := order(1)
	second, _ := order(1)
	other, _ := order(2)
	if first != second || first == other {
		t.Errorf("the same seed has the same order: %v, want true; another seed has another: %v, want true", first == second, first != other)
	}
	for path, share := range map[string]float64{"/0": 0.1, "/1": 0.3, "/2": 0.6} {
		if got := float64(counts[path]) / n; got < share-0.01 || got > share+0.01 {
			t.Errorf("%s: got a share of %.3f, want %.1f", path, got, share)
		}
	}
}

func TestThePlainRequestIsUnchanged(t *testing.T) {
	c := Config{URL: "http://a:1/x?y", Timeout: time.Second}
	want := "GET /x?y HTTP/1.1\r\nHost: a:1\r\nUser-Agent: weir-load\r\nAccept: */*\r\n\r\n"
	if p := c.prepare(); len(p) != 1 || string(p[0].wire) != want || !p[0].learned || p[0].exact == nil {
		t.Errorf("got %q, want %q with the first body expected", p[0].wire, want)
	}
}
