package auth

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"weir/flow"
	"weir/web"
)

// hash is a bcrypt hash of a low cost, so that tests take no longer than they must.
func hash(t testing.TB, password string, cost int) string {
	t.Helper()
	h, err := bcrypt.GenerateFromPassword([]byte(password), cost)
	if err != nil {
		t.Fatal(err)
	}
	return string(h)
}

// written is the name of a file with some text in it.
func written(t testing.TB, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	rewrite(t, name, text)
	return name
}

func rewrite(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// told is a source that says who the client is.
func told(area string) web.Component {
	return web.Named(area, web.Source(func(c *web.Conn) web.Body {
		return web.String(fmt.Sprintf("%s %q", area, c.Text(web.User)))
	}))
}

// bothWays serves a composition as a chain and as a process network.
func bothWays(t *testing.T, c web.Component, test func(t *testing.T, url string)) {
	t.Helper()
	for _, way := range []flow.Way{flow.Chain, flow.Network} {
		t.Run(string(way), func(t *testing.T) {
			h, err := web.New(c, web.Options{Way: way})
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			s := httptest.NewServer(h)
			defer s.Close()
			test(t, s.URL)
		})
	}
}

// asked is the response to a request with these fields Authorization.
func asked(t *testing.T, url string, authorization ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range authorization {
		r.Header.Add("Authorization", a)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	return resp, string(body)
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after a minute still not: %s", what)
		}
	}
}

// says holds an error against the words that it must have.
func says(t *testing.T, err error, words string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("error %v, want one that says %q", err, words)
	}
	if err != nil && strings.Contains(err.Error(), "sesame") {
		t.Errorf("error %v tells the secret", err)
	}
}
