package web_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"weir/flow"
	"weir/web"
	"weir/web/components/auth"
	"weir/web/components/basic"
	"weir/web/components/compress"
	"weir/web/components/files"
	"weir/web/internal/webtest"
)

// The example servers of the paper, each as its figure draws it. dir has the files; users the
// passwords.

// figure1 is a file server that compresses what is below js/ and css/.
func figure1(dir string) (web.Component, error) {
	pages, err := files.New(files.Config{Dir: dir})
	if err != nil {
		return nil, err
	}
	zip, err := compress.New(compress.Config{})
	if err != nil {
		return nil, err
	}
	return web.Routes(
		web.Arm{Pattern: "/", Component: pages},
		web.Arm{Pattern: "/js/", Component: web.Chain(pages, zip)},
		web.Arm{Pattern: "/css/", Component: web.Chain(pages, zip)},
	)
}

// figure2 is the same server with the path of the content drawn: from a source through a filter.
// The filter is one of the paper's.
func figure2(dir string) (web.Component, error) {
	pages, err := files.New(files.Config{Dir: dir})
	if err != nil {
		return nil, err
	}
	return web.Routes(
		web.Arm{Pattern: "/", Component: pages},
		web.Arm{Pattern: "/js/", Component: web.Chain(pages, basic.Rot13())},
		web.Arm{Pattern: "/css/", Component: web.Chain(pages, basic.Rot13Piped())},
	)
}

// figure3 is a file server with a private area: two paths lead on from the authentication.
func figure3(dir, users string) (web.Component, error) {
	pages, err := files.New(files.Config{Dir: dir})
	if err != nil {
		return nil, err
	}
	denied, err := basic.Status(basic.StatusConfig{Code: 401})
	if err != nil {
		return nil, err
	}
	private, err := auth.Basic(auth.BasicConfig{Users: users}, pages, denied)
	if err != nil {
		return nil, err
	}
	return web.Routes(web.Arm{Pattern: "/", Component: pages}, web.Arm{Pattern: "/private/", Component: private})
}

// script is long enough to be worth compressing.
var script = strings.Repeat("let steer = measure;\n", 200)

func folder(t *testing.T) (dir string) {
	dir = t.TempDir()
	for _, name := range []string{"index.html", "js/a.js", "css/a.css", "private/a.txt"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFigure1(t *testing.T) {
	c, err := figure1(folder(t))
	if err != nil {
		t.Fatal(err)
	}
	webtest.ServeBothWays(t, c, func(t *testing.T, url string) {
		for path, compressed := range map[string]bool{"/index.html": false, "/js/a.js": true, "/css/a.css": true} {
			path = strings.TrimSuffix(path, "index.html")
			if resp, body := get(t, url+path); body != script || resp.Uncompressed != compressed {
				t.Errorf("%s: got %d bytes, compressed: %v, want %v", path, len(body), resp.Uncompressed, compressed)
			}
		}
	})
}

func TestFigure2(t *testing.T) {
	c, err := figure2(folder(t))
	if err != nil {
		t.Fatal(err)
	}
	turned := strings.ReplaceAll(script, "let steer = measure", "yrg fgrre = zrnfher")
	webtest.ServeBothWays(t, c, func(t *testing.T, url string) {
		for path, want := range map[string]string{"/": script, "/js/a.js": turned, "/css/a.css": turned} {
			if _, body := get(t, url+path); body != want {
				t.Errorf("%s: %.40q, want %.40q", path, body, want)
			}
		}
	})
}

func TestFigure3(t *testing.T) {
	users := filepath.Join(t.TempDir(), "users")
	hash, err := bcrypt.GenerateFromPassword([]byte("weir"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(users, []byte("ann:"+string(hash)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := figure3(folder(t), users)
	if err != nil {
		t.Fatal(err)
	}
	webtest.ServeBothWays(t, c, func(t *testing.T, url string) {
		if resp, body := get(t, url+"/private/a.txt"); resp.StatusCode != 401 || resp.Header.Get("WWW-Authenticate") == "" || strings.Contains(body, "let") {
			t.Errorf("without a password: got %d %q %v, want 401 with a challenge and without the file", resp.StatusCode, body, resp.Header)
		}
		if resp, body := get(t, url+"/private/a.txt", "Authorization", "Basic YW5uOndlaXI="); resp.StatusCode != 200 || body != script {
			t.Errorf("with the password: got %d, %d bytes, want 200 and the file", resp.StatusCode, len(body))
		}
		if resp, body := get(t, url); resp.StatusCode != 200 || body != script {
			t.Errorf("outside the private area: got %d, %d bytes, want 200 and the file", resp.StatusCode, len(body))
		}
	})
	h, err := web.New(c, web.Options{Way: flow.Network})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if n := len(h.Topology().Stages); n < 5 {
		t.Errorf("topology: got %d stages, want at least 5", n)
	}
}
