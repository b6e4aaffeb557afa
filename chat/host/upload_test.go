package host

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/chat/account"
)

func TestFilesAreUploadedWhereThePageIs(t *testing.T) {
	dir := t.TempDir()
	store, err := account.Open(dir, account.Options{Iterations: 4096})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Add("ann", "correct-horse", account.Member, false); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	r := start(t, Config{Data: dir, Web: Web{Listen: []string{"127.0.0.1:0"}}, Upload: Upload{MaxBytes: 1 << 20}})
	at := "http://" + r.addrs["web"][0] + "/upload"
	c := r.client("NICK guest", "USER guest 0 * :guest")
	if line := c.until(" draft/FILEHOST="); !strings.Contains(line, " draft/FILEHOST="+at+" ") {
		t.Fatalf("got the upload URL %q, want %s", line, at)
	}
	client := &http.Client{Timeout: waitLimit}
	defer client.CloseIdleConnections()
	status := func(method, url string, body io.Reader) (int, string) {
		t.Helper()
		q, err := http.NewRequest(method, url, body)
		if err != nil {
			t.Fatal(err)
		}
		q.SetBasicAuth("ann", "correct-horse")
		res, err := client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	big := strings.Repeat("x", 1<<20)
	code, link := status("POST", at, io.MultiReader(strings.NewReader(big))) // of no known length
	if code != 201 {
		t.Fatalf("upload: got %d %s, want 201", code, link)
	}
	if code, text := status("GET", strings.TrimSpace(link), nil); code != 200 || text != big {
		t.Errorf("download: got %d, %d bytes; want 200 and the whole file", code, len(text))
	}
	if code, text := status("POST", at, io.MultiReader(strings.NewReader(big+"x"))); code != 413 {
		t.Errorf("upload beyond the limit: got %d %s, want 413", code, text)
	}
	config := *r.Config()
	config.Upload.MaxBytes, config.Upload.URL = 2<<20, "https://chat.example.org/upload"
	if kept, err := r.Reload(config); err != nil || len(kept) > 0 {
		t.Fatalf("Reload: got the keys %q kept and error %v, want none", kept, err)
	}
	if code, text := status("POST", at, strings.NewReader(big+"x")); code != 201 {
		t.Errorf("upload after a reload: got %d %s, want the new limit", code, text)
	}
	r.client("NICK other", "USER other 0 * :other").until(" draft/FILEHOST=https://chat.example.org/upload ")
}

func TestUploadsNeedThePageAndAreOffOnRequest(t *testing.T) {
	for _, c := range []Config{{}, {Web: Web{Listen: []string{"127.0.0.1:0"}}, Upload: Upload{Off: true}}} {
		r := start(t, c)
		r.user("ann", "FILEHOST TOKEN").until(" 421 ann FILEHOST ")
	}
}

func TestInvalidUploadKeysAreRejected(t *testing.T) {
	for key, u := range map[string]Upload{
		"upload.url": {URL: "chat.example.org"}, "upload.max_bytes": {MaxBytes: 1}, "upload.per_day": {PerDay: 1}, "upload.total": {Total: 1},
		"upload.files_per_day": {FilesPerDay: -1}, "upload.keep": {Keep: Duration(time.Minute)},
	} {
		c := Config{Data: "x", Upload: u}
		if err := c.Check(); err == nil || !strings.HasPrefix(err.Error(), key+": ") {
			t.Errorf("%s: got %v, want an error that names the key", key, err)
		}
	}
}

func TestTheUploadURLFollowsTheListener(t *testing.T) {
	named, secure := Config{Server: Server{Name: "chat.example.org"}}, Config{Server: Server{Name: "chat.example.org"}, TLS: TLS{Web: true}}
	for _, c := range []struct {
		config     *Config
		addr, want string
	}{
		{&named, "127.0.0.1:80", "http://127.0.0.1/upload"}, {&named, "[::1]:80", "http://[::1]/upload"}, {&named, "[::1]:8080", "http://[::1]:8080/upload"},
		{&named, "[::]:8080", "http://chat.example.org:8080/upload"}, {&secure, "0.0.0.0:443", "https://chat.example.org/upload"},
	} {
		a, err := net.ResolveTCPAddr("tcp", c.addr)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.config.defaultURL(a); got != c.want {
			t.Errorf("%s: got the URL %s, want %s", c.addr, got, c.want)
		}
	}
	if got := (&Config{}).defaultURL(&net.TCPAddr{IP: net.IPv4zero, Port: 80}); strings.Contains(got, "0.0.0.0") {
		t.Errorf("on all addresses: got the URL %s, want the server's name", got)
	}
}
