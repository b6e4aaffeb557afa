package auth

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"weir/web"
	"weir/web/internal/webtest"
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

// showUser is a source that shows the name of the client.
func showUser(area string) web.Component {
	return web.Named(area, web.Source(func(c *web.Conn) web.Body {
		return web.String(fmt.Sprintf("%s %q", area, c.StringValue(web.User)))
	}))
}

// asked is the response to a request with these fields Authorization.
func asked(t *testing.T, url string, authorization ...string) (*http.Response, string) {
	t.Helper()
	var header []string
	for _, a := range authorization {
		header = append(header, "Authorization", a)
	}
	return webtest.Get(t, url, header...)
}

// says holds an error against the words that it must have.
func says(t *testing.T, err error, words string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("error %v, want one that says %q", err, words)
	}
	if err != nil && strings.Contains(err.Error(), "sesame") {
		t.Errorf("got the error %v, want it without the secret", err)
	}
}
