package docs

import (
	"fmt"
	"net"
	"net/http"
	nethttpfcgi "net/http/fcgi"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// phpScript reports what a script learns of the request: method, requested target, its own name and
// a field of a form.
const phpScript = `<?php
echo $_SERVER["REQUEST_METHOD"], " ", $_SERVER["REQUEST_URI"], " ",
	substr($_SERVER["SCRIPT_FILENAME"], strlen($_SERVER["DOCUMENT_ROOT"])), " ", $_POST["word"] ?? "";
`

// scripts is an application that answers as phpScript does.
func scripts(w http.ResponseWriter, r *http.Request) {
	env := nethttpfcgi.ProcessEnv(r)
	fmt.Fprintf(w, "%s %s %s %s", r.Method, r.URL.RequestURI(), strings.TrimPrefix(env["SCRIPT_FILENAME"], env["DOCUMENT_ROOT"]), r.PostFormValue("word"))
}

// runScripts runs the application of this test at a socket.
func runScripts(t *testing.T, socket string) {
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{}) // closed when the application has ended
	go func() { defer close(done); _ = nethttpfcgi.Serve(l, http.HandlerFunc(scripts)) }()
	t.Cleanup(func() { l.Close(); <-done })
}

// runPHP runs PHP at a socket.
func runPHP(t *testing.T, socket string) {
	cmd := exec.Command("php-cgi", "-b", socket)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	until(t, "PHP listens", func() bool {
		c, err := net.Dial("unix", socket)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

func TestTheWordPressOfTheSitesRunsScriptsAndServesFiles(t *testing.T) {
	for name, run := range map[string]func(*testing.T, string){"application": runScripts, "PHP": runPHP} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath("php-cgi"); err != nil && name == "PHP" {
				t.Skip("php-cgi is not installed: scripts/setup test installs it")
			}
			exampleSite{"wordpress", func(t *testing.T, dir string) []string {
				for _, script := range []string{"index.php", "wp-login.php", "wp-config.php", "wp-admin/index.php", "xmlrpc.php", "wp-content/uploads/2026/evil.php", "wp-content/uploads/index.php"} {
					put(t, dir, "wordpress/"+script, phpScript)
				}
				for file, text := range map[string]string{"wp-content/style.css": "h1 {}", "wp-content/uploads/2026/dam.jpg": "a dam", ".htaccess": "secret", "wp-config.php.bak": "secret"} {
					put(t, dir, "wordpress/"+file, text)
				}
				socket := filepath.Join(dir, "php.sock")
				run(t, socket)
				return []string{"/run/php/php-fpm.sock", socket}
			}, askWordPress}.run(t)
		})
	}
}

// askWordPress checks that files are sent and scripts are run. A style sheet is never run, whatever
// stands behind it in the path, and wp-config.php is never sent.
func askWordPress(t *testing.T, s *servedSite) {
	s.answers(t, map[string]siteAnswer{
		"/":                                 {200, "GET / /index.php "},
		"/2026/hello-world/?page=2":         {200, "GET /2026/hello-world/?page=2 /index.php "},
		"/2026/../about":                    {200, "GET /about /index.php "},
		"/wp-login.php?redirect_to=x":       {200, "GET /wp-login.php?redirect_to=x /wp-login.php "},
		"/wp-admin":                         {308, ""},
		"/wp-admin/":                        {200, "GET /wp-admin/ /wp-admin/index.php "},
		"/wp-content/style.css":             {200, "h1 {}"},
		"/wp-content/uploads/2026/dam.jpg":  {200, "a dam"},
		"/wp-content/uploads/2026/evil.php": {404, ""},
		"/wp-content/uploads/2026/evil.PHP": {404, ""},
		"/wp-content/uploads/":              {404, ""},
		"/none.php":                         {200, "GET /none.php /index.php "},
		"/wp-content/uploads/x/../../none":  {200, "GET /wp-content/none /index.php "},
		"/wp-content/style.css/x.php":       {200, "GET /wp-content/style.css/x.php /index.php "},
		"/xmlrpc.php":                       {403, ""},
		"/xmlrpc.php/x":                     {403, ""},
		"/x/..//xmlrpc.php":                 {403, ""},
		"/.htaccess":                        {404, ""},
		"/wp-config.php":                    {200, "GET /wp-config.php /wp-config.php "},
		"/wp-config.php.bak":                {200, "GET /wp-config.php.bak /index.php "},
	})
	if style, _ := s.get(t, "/wp-content/style.css"); style.Header.Get("Etag") == "" || !strings.HasPrefix(style.Header.Get("Content-Type"), "text/css") {
		t.Errorf("a style sheet: got %v, want a file with its type and tag", style.Header)
	}
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	if resp, body := s.fetch(t, "POST", "/wp-login.php", "word=sesame", form...); resp.StatusCode != 200 || body != "POST /wp-login.php /wp-login.php sesame" {
		t.Errorf("a form: got %d %q, want the script to get its field", resp.StatusCode, body)
	}
	if resp, body := s.fetch(t, "POST", "/2026/hello-world/", "word=hello", form...); resp.StatusCode != 200 || body != "POST /2026/hello-world/ /index.php hello" {
		t.Errorf("a form of another path: got %d %q, want index.php to get its field", resp.StatusCode, body)
	}
	if resp, _ := s.fetch(t, "POST", "/wp-content/style.css", "", form...); resp.StatusCode != 405 {
		t.Errorf("POST to a file: got %d, want 405", resp.StatusCode)
	}
	until(t, "a client that sends many forms is slowed down", func() bool {
		resp, _ := s.fetch(t, "POST", "/wp-login.php", "word=guess", form...)
		return resp.StatusCode == 429
	})
	if resp, _ := s.get(t, "/"); resp.StatusCode != 200 {
		t.Errorf("its pages: got %d, want 200", resp.StatusCode)
	}
}
