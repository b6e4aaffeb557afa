package host

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/certificate"
)

// status is what a listener answers to a request by a host name.
func (r *running) status(what, path, host string) (int, string) {
	r.t.Helper()
	req, err := http.NewRequest("GET", "http://"+r.addrs[what][0]+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Host = host
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: waitLimit}
	res, err := c.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(text)
}

func TestThePageAndTheMetricsAnswerToTheServersOwnNames(t *testing.T) {
	cert, key, err := certificate.Self(filepath.Join(t.TempDir(), "tls"), []string{"talk.example.net", "*.wild.example"})
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, Config{Server: Server{Name: "chat.example.org"}, TLS: TLS{Cert: cert, Key: key, Listen: []string{"127.0.0.1:0"}},
		Upload: Upload{URL: "https://files.example.com/upload"}, Metrics: Metrics{Listen: "127.0.0.1:0"},
		Web: Web{Listen: []string{"127.0.0.1:0"}, Hosts: []string{"Village.example."}}})
	for host, want := range map[string]int{"village.example": 200, "VILLAGE.example.:1": 200, "chat.example.org": 200, "talk.example.net": 200, "a.wild.example:80": 200, "files.example.com": 200,
		"localhost": 200, "127.0.0.1": 200, "evil": 421, "wild.example": 421, "a.b.wild.example": 421, "weir.chat": 421, "*.wild.example": 421} {
		for _, at := range [][2]string{{"web", "/"}, {"web", "/page.js"}, {"metrics", "/metrics"}, {"metrics", "/healthz"}, {"metrics", "/readyz"}} {
			got, text := r.status(at[0], at[1], host)
			if got != want {
				t.Errorf("%s with Host %s: got status %d, want %d", at, host, got, want)
			}
			if got == 421 && !strings.Contains(text, "hosts under [web]") {
				t.Errorf("%s with Host %s: got the error %q, want one that names the key", at, host, text)
			}
		}
	}
	c := *r.Config()
	c.Web.Hosts = []string{"evil"}
	if kept, err := r.Reload(c); err != nil || len(kept) > 0 {
		t.Fatalf("Reload: got the keys %q kept and error %v, want none", kept, err)
	}
	if got, _ := r.status("web", "/", "evil"); got != 200 {
		t.Errorf("a name that a reload added: got status %d, want 200", got)
	}
	if got, _ := r.status("web", "/", "village.example"); got != 421 {
		t.Errorf("a name that a reload removed: got status %d, want 421", got)
	}
}
