package main

import (
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// twoServices is a site file with two servers and an admin page.
func twoServices(t *testing.T, first, second string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "site.hcl")
	write(t, file, fmt.Sprintf(`
server "plain" {
  listen = %q
  redirect { https = true }
}
server "site" {
  listen = %q
  admin  = "127.0.0.1:0"
  metrics {}
  route "a.test/" {
    text { text = "a" }
  }
  route "b.test/" {
    text { text = "b" }
  }
}
`, first, second))
	return file
}

func TestOneFileServesSeveralServersAndOneAdminPageShowsAll(t *testing.T) {
	file := twoServices(t, "127.0.0.1:0", "127.0.0.1:0")
	s := &served{Cmd: exec.Command(binary(t), "serve", file)}
	admin := &served{url: s.start(t, "admin page on")}
	plain := &served{url: s.address(t, `server "plain": serving on`)}
	s.url = s.address(t, `server "site": serving on`)
	for host, want := range map[string]string{"a.test": "a", "b.test": "b"} {
		if _, body := s.getFrom(t, host); body != want {
			t.Errorf("GET http://%s/ of the server site: got %q, want %q", host, body, want)
		}
	}
	resp, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Transport: &http.Transport{DisableKeepAlives: true}}).Get(plain.url + "x")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if where := resp.Header.Get("Location"); where != "https://127.0.0.1/x" {
		t.Errorf("GET /x of the server plain: got %d to %q, want a redirect to https://127.0.0.1/x", resp.StatusCode, where)
	}
	_, topology := admin.get(t, "api/topology")
	_, metrics := admin.get(t, "metrics")
	for _, want := range []string{`"name":"plain"`, `"name":"site"`} {
		if !strings.Contains(topology, want) {
			t.Errorf("the admin page's topology: got %.300s, want %s", topology, want)
		}
	}
	for _, want := range []string{`weir_http_requests_total{class="2xx",route="a.test/",server="site"} 1`, `weir_site_exchanges_active{site="plain"} 0`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics: got no line %s", want)
		}
	}
	s.stop(t)
}

// getFrom requests / of a host.
func (s *served) getFrom(t *testing.T, host string) (int, string) {
	t.Helper()
	r, err := http.NewRequest("GET", s.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	return do(t, r)
}

func TestAnAddressInUseNamesItsServerAndNoOtherRuns(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, c := range []struct{ file, want string }{
		{twoServices(t, "127.0.0.1:0", taken.Addr().String()), fmt.Sprintf(`server "site": cannot listen on %v: the address is in use`, taken.Addr())},
		{twoServices(t, taken.Addr().String(), "127.0.0.1:0"), fmt.Sprintf(`server "plain": cannot listen on %v: the address is in use`, taken.Addr())},
	} {
		out, err := exec.Command(binary(t), "serve", c.file).CombinedOutput()
		if err == nil || strings.Count(string(out), "\n") != 1 || !strings.Contains(string(out), c.want) {
			t.Errorf("got %v and %q, want one line with %q", err, out, c.want)
		}
	}
}

func TestCommandsTakeAFileWithSeveralServers(t *testing.T) {
	file := twoServices(t, "127.0.0.1:1", "127.0.0.1:2")
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"check " + file, "is valid", 0},
		{"draw " + file, "site/routes", 0},
		{"draw --format dot " + file, `"" -> "plain/redirect" [label="plain 127.0.0.1:1"]`, 0},
		{"draw --format mermaid " + file, `entry -->|"site 127.0.0.1:2"| `, 0},
		{"draw --format json " + file, `"name": "plain/redirect"`, 0},
		{file + " --listen 127.0.0.1:0", "--listen is for one server, and the site file has 2", 2},
	} {
		cmd := exec.Command(binary(t), append([]string{"serve"}, strings.Fields(c.args)...)...)
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(out), c.want) {
			t.Errorf("weir serve %s: got exit status %d and %s; want %d and %q", c.args, code, out, c.code, c.want)
		}
		if strings.HasPrefix(c.args, "draw --format dot") && strings.Count(string(out), "\t\"response\" [") != 1 {
			t.Errorf("weir serve %s: got %s, want one exit for all servers", c.args, out)
		}
	}
}
