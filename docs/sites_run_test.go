package docs

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/serve"
)

// siteVariant is a way to serve a site.
type siteVariant struct {
	name string
	args []string // of weir serve
}

// siteVariants are the ways in which each site of docs/sites is served. Each must answer alike.
var siteVariants = []siteVariant{
	{"nethttp, chain", []string{"--engine", "nethttp", "--run", "chain"}},
	{"nethttp, network", []string{"--engine", "nethttp", "--run", "network"}},
	{"usual", nil},
	{"goroutine", []string{"--engine", "http1", "--model", "goroutine", "--run", "network"}},
	{"pool", []string{"--engine", "http1", "--model", "pool"}},
	{"loop", []string{"--engine", "http1", "--model", "loop"}},
	{"coroutine", []string{"--engine", "http1", "--model", "coroutine", "--run", "network"}},
}

// processVariants are for sites whose components keep nothing in one process.
var processVariants = []siteVariant{
	{"prefork", []string{"--engine", "http1", "--model", "prefork"}},
	{"process", []string{"--engine", "http1", "--model", "process", "--run", "network"}},
}

func TestEachModelServesASite(t *testing.T) {
	var named []string
	for _, v := range slices.Concat(siteVariants, processVariants) {
		if i := slices.Index(v.args, "--model"); i >= 0 {
			named = append(named, v.args[i+1])
		}
	}
	slices.Sort(named)
	if want := slices.Sorted(slices.Values(serve.WayNames())); !slices.Equal(named, want) {
		t.Errorf("the sites are served by %q, want each of %q", named, want)
	}
}

func TestEachSiteHasATest(t *testing.T) {
	sites, err := filepath.Glob("sites/*/site.hcl")
	if err != nil || len(sites) < 5 {
		t.Fatalf("got the sites %q, %v; want five or more", sites, err)
	}
	tests, err := filepath.Glob("sites_*test.go")
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, name := range tests {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(text)
	}
	for _, site := range sites {
		if name := filepath.Base(filepath.Dir(site)); !strings.Contains(source.String(), "exampleSite{\""+name+"\"") {
			t.Errorf("sites/%s: got no test, want one that serves it", name)
		}
	}
}

// exampleSite is a site of docs/sites with what it needs in a test.
type exampleSite struct {
	name string // of its folder
	// prepare makes the files and starts the servers that the site needs. It returns pairs of a
	// text of the site file, such as an address, and what the test has in its place.
	prepare func(t *testing.T, dir string) (replace []string)
	ask     func(t *testing.T, s *servedSite)
}

// run serves the site in each variant, in a folder of its own, and sends it the requests.
func (e exampleSite) run(t *testing.T, further ...siteVariant) {
	text, err := os.ReadFile(filepath.Join("sites", e.name, "site.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range slices.Concat(siteVariants, further) {
		t.Run(v.name, func(t *testing.T) {
			dir := t.TempDir()
			site := string(text)
			replace := e.prepare(t, dir)
			for i := 0; i < len(replace); i += 2 {
				if !strings.Contains(site, replace[i]) {
					t.Fatalf("%s/site.hcl: got no %q, want the text that the test replaces", e.name, replace[i])
				}
				site = strings.ReplaceAll(site, replace[i], replace[i+1])
			}
			put(t, dir, "site.hcl", site)
			e.ask(t, serveSite(t, dir, v.args...))
		})
	}
}

// servedSite is a site that the command serves.
type servedSite struct {
	dir, url string // url has no slash at its end
}

// serveSite runs weir serve until the test ends.
func serveSite(t *testing.T, dir string, args ...string) *servedSite {
	t.Helper()
	cmd := exec.Command(weirBinary(t), append([]string{"serve", "site.hcl", "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Dir = dir
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stderr)
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_, _ = io.Copy(io.Discard, lines)
		if err := cmd.Wait(); err != nil {
			t.Errorf("weir serve: got %v at its end, want exit status 0", err)
		}
	})
	said := ""
	for {
		line, err := lines.ReadString('\n')
		said += line
		if _, url, ok := strings.Cut(line, "serving on "); ok {
			return &servedSite{dir, strings.TrimSuffix(strings.TrimSpace(url), "/")}
		}
		if err != nil {
			t.Fatalf("weir serve: got %v and\n%s\nwant a line with the address", err, said)
		}
	}
}

// siteClient shows responses as received, on a connection for each.
var siteClient = &http.Client{
	Timeout:       30 * time.Second,
	Transport:     &http.Transport{DisableKeepAlives: true, DisableCompression: true, ExpectContinueTimeout: 30 * time.Second},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// fetch sends a request with fields, as names and values in turn.
func (s *servedSite) fetch(t *testing.T, method, target, body string, fields ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	resp, err := siteClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(text)
}

func (s *servedSite) get(t *testing.T, target string, fields ...string) (*http.Response, string) {
	t.Helper()
	return s.fetch(t, "GET", target, "", fields...)
}

// answers checks responses to GET: a status, and a part of the body.
func (s *servedSite) answers(t *testing.T, want map[string]siteAnswer) {
	t.Helper()
	for target, w := range want {
		resp, body := s.get(t, target)
		if resp.StatusCode != w.status || !strings.Contains(body, w.body) {
			t.Errorf("GET %s: got %d %.200q, want %d with %q", target, resp.StatusCode, body, w.status, w.body)
		}
	}
}

type siteAnswer struct {
	status int
	body   string // a part
}

// until waits until a condition holds; what names it.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("within a minute this did not become true: %s", what)
		}
	}
}
