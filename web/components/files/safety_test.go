package files

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestOtherMethodsGet405(t *testing.T) {
	s := serve(t, Config{Dir: tree(t, site)})
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "PATCH"} {
		if resp, _ := ask(t, s, method, "/page.html"); resp.StatusCode != 405 || resp.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: got %d, Allow: %q, want 405 with Allow: GET, HEAD", method, resp.StatusCode, resp.Header.Get("Allow"))
		}
	}
}

func TestRedirectToTheSlash(t *testing.T) {
	dir := tree(t, map[string]string{"sub/index.html": "x", "a b/index.html": "x", "a:b/index.html": "x"})
	s := serve(t, Config{Dir: dir})
	stripped := serve(t, Config{Dir: dir, Strip: "/static/"})
	for _, c := range []struct{ target, want string }{
		{"/sub", "/sub/"}, {"/sub?a=b&c", "/sub/?a=b&c"}, {"/sub?", "/sub/"}, {"/a%20b", "/a%20b/"}, {"/a:b", "/a:b/"}, {"//sub", "//sub/"},
		{"/static", "/static/"}, {"/static/sub", "/static/sub/"},
	} {
		server := s
		if strings.HasPrefix(c.target, "/static") {
			server = stripped
		}
		resp, _ := get(t, server, c.target)
		base, err := url.Parse("http://test" + c.target)
		if err != nil {
			t.Fatal(err)
		}
		to, err := base.Parse(resp.Header.Get("Location"))
		if err != nil || resp.StatusCode != 301 || strings.TrimSuffix(to.String(), "?") != "http://test"+c.want {
			t.Errorf("GET %s: %d to %v, %v, want 301 to %s", c.target, resp.StatusCode, to, err, c.want)
		}
	}
}

func TestStripRemovesThePrefix(t *testing.T) {
	s := serve(t, Config{Dir: tree(t, site), Strip: "/static"})
	for target, want := range map[string]int{"/static/page.html": 200, "/static/": 200, "/page.html": 404, "/staticpage.html": 404, "/": 404} {
		if resp, _ := get(t, s, target); resp.StatusCode != want {
			t.Errorf("GET %s: %d, want %d", target, resp.StatusCode, want)
		}
	}
}

// TestFilesOutsideTheRootAreNotServed tries spellings and links that lead out of the directory.
func TestFilesOutsideTheRootAreNotServed(t *testing.T) {
	outside := tree(t, map[string]string{"secret.txt": "secret", "www/page.html": "page", "www/sub/deep/x.txt": "x", "www-2/secret.txt": "secret"})
	www := filepath.Join(outside, "www")
	for link, to := range map[string]string{
		"up.txt": "../secret.txt", "absolute.txt": filepath.Join(outside, "secret.txt"), "dir": "..", "sub/deeper": "../../..",
		"within.txt": "page.html", "around.txt": "sub/deep/../../page.html", "loop": "loop", "chain.txt": "up.txt",
	} {
		if err := os.Symlink(to, filepath.Join(www, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, cache := range []string{"", "0"} {
		s := serve(t, Config{Dir: www, Cache: cache, List: true})
		for _, target := range []string{
			"/../secret.txt", "/%2e%2e/secret.txt", "/%2E%2E%2Fsecret.txt", "/..%2fsecret.txt", "/sub/../../secret.txt", "/sub/..%5c..%5csecret.txt", `/..\secret.txt`, `/..%5csecret.txt`,
			"/%252e%252e/secret.txt", "/..%c0%afsecret.txt", "/..%00/secret.txt", "/page.html%00", "/page.html%00.txt", "/..;/secret.txt", "/...//secret.txt", "/./../secret.txt",
			"/../www-2/secret.txt", "/up.txt", "/absolute.txt", "/dir/secret.txt", "/dir/", "/dir", "/sub/deeper/secret.txt", "/chain.txt", "/loop", "/loop/", "/" + outside + "/secret.txt",
			"//" + outside + "/secret.txt", "/C:/secret.txt", "/~/secret.txt", "/sub%2f..%2fpage.html",
		} {
			if resp, body := get(t, s, target); resp.StatusCode != 404 && resp.StatusCode != 400 || strings.Contains(body, "secret\n") || body == "secret" {
				t.Errorf("GET %s: %d %q, want 404 or 400", target, resp.StatusCode, body)
			}
		}
		for _, target := range []string{"/within.txt", "/around.txt", "/sub/../page.html", "/../page.html"} {
			if resp, body := get(t, s, target); resp.StatusCode != 200 || body != "page" {
				t.Errorf("GET %s: %d %q, want a link, and a path, that stay inside to be followed", target, resp.StatusCode, body)
			}
		}
		if _, body := get(t, s, "/"); strings.Contains(body, "up.txt") || strings.Contains(body, `"./dir`) || !strings.Contains(body, "within.txt") {
			t.Errorf("listing of /: want the files that are served, no link out of the root, got\n%s", body)
		}
	}
}

func TestDotfilesAreServedOnlyIfConfigured(t *testing.T) {
	dir := tree(t, map[string]string{".env": "x", ".git/config": "x", "a/.b/c": "x", "a/.well-known/c": "x", ".well-known/c": "x", ".well-known/.d": "x", "..c": "x"})
	hidden, shown := serve(t, Config{Dir: dir}), serve(t, Config{Dir: dir, Dotfiles: true})
	for target, want := range map[string]int{
		"/.env": 404, "/.git/config": 404, "/%2egit/config": 404, "/a/.b/c": 404, "/a/.well-known/c": 404, "/.well-known/c": 200, "/.well-known/.d": 404, "/.git/": 404, "/..c": 404,
	} {
		if resp, _ := get(t, hidden, target); resp.StatusCode != want {
			t.Errorf("GET %s: %d, want %d", target, resp.StatusCode, want)
		}
		if resp, _ := get(t, shown, target); resp.StatusCode != 200 && target != "/.git/" {
			t.Errorf("GET %s with dotfiles: %d, want 200", target, resp.StatusCode)
		}
	}
}

func TestOnlyRegularFiles(t *testing.T) {
	dir := tree(t, map[string]string{"sub/x.txt": "x"})
	if err := syscall.Mkfifo(filepath.Join(dir, "sub/pipe"), 0o644); err != nil {
		t.Skip(err)
	}
	s := serve(t, Config{Dir: dir, List: true})
	if resp, _ := get(t, s, "/sub/pipe"); resp.StatusCode != 404 { // and does not wait for a writer
		t.Errorf("a named pipe: %d, want 404", resp.StatusCode)
	}
	if _, body := get(t, s, "/sub/"); strings.Contains(body, "pipe") {
		t.Errorf("got a listing with a named pipe, want regular files only:\n%s", body)
	}
}

func TestForbidden(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("the superuser may read everything")
	}
	dir := tree(t, site)
	if err := os.Chmod(filepath.Join(dir, "page.html"), 0); err != nil {
		t.Fatal(err)
	}
	if resp, _ := get(t, serve(t, Config{Dir: dir}), "/page.html"); resp.StatusCode != 403 {
		t.Errorf("got %d, want 403", resp.StatusCode)
	}
}

func TestNotFoundPage(t *testing.T) {
	dir := tree(t, site)
	for _, cache := range []string{"", "0"} {
		s := serve(t, Config{Dir: dir, NotFound: "404.html", Cache: cache})
		for range 2 {
			resp, body := get(t, s, "/none", "If-None-Match", "*", "Range", "bytes=0-1")
			if resp.StatusCode != 404 || body != "<p>lost" || resp.Header.Get("Content-Type") != "text/html; charset=utf-8" || resp.Header.Get("Etag") != "" {
				t.Errorf("got %d %q %v, want 404 with the page and without an entity tag", resp.StatusCode, body, resp.Header)
			}
		}
		if resp, _ := get(t, s, "/404.html"); resp.StatusCode != 200 || resp.Header.Get("Etag") == "" {
			t.Errorf("the page itself: got %d, tag %q, want 200 with a tag", resp.StatusCode, resp.Header.Get("Etag"))
		}
	}
	if resp, body := get(t, serve(t, Config{Dir: dir, NotFound: "no-such.html"}), "/none"); resp.StatusCode != 404 || body != "404 Not Found\n" {
		t.Errorf("without the page: got %d %q, want 404 with its line of text", resp.StatusCode, body)
	}
}

func TestConfigErrors(t *testing.T) {
	dir := tree(t, site)
	for want, cfg := range map[string]Config{
		`files: dir is "", which cannot be opened: the path is empty: write the path of a directory`: {},
		`files: index is "a/b", which is a path`:                                                     {Dir: dir, Index: "a/b"},
		`files: strip is "static", which does not begin with a slash`:                                {Dir: dir, Strip: "static"},
		`files: not_found is "/../x", which does not name a file below dir`:                          {Dir: dir, NotFound: "../x"},
		`files: precompressed has "lzma", which is not supported`:                                    {Dir: dir, Precompressed: []string{"lzma"}},
		`files: cache is "much", which is not a size`:                                                {Dir: dir, Cache: "much"},
		`files: cache_file is "-1", which is not a size`:                                             {Dir: dir, CacheFile: "-1"},
		`files: dir is "/no/such/dir", which cannot be opened: open /no/such/dir`:                    {Dir: "/no/such/dir"},
		`files: dir is "` + dir + `/page.html", which cannot be opened`:                              {Dir: dir + "/page.html"},
	} {
		if c, err := New(cfg); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", cfg, err, want)
			if err == nil {
				c.(io.Closer).Close()
			}
		}
	}
}

// FuzzPath compares the rule with filepath.IsLocal.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"/", "/a", "/a/../b", "/./a//b/.", "/.a", "/\x00", `/\`, "//", "/a/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, p string) {
		if p == "" {
			return
		}
		clean, err := new(files).cleanPath(p)
		if err != nil {
			return
		}
		if clean[0] != '/' || strings.Contains(clean, "//") || clean != "/" && !isLocal(strings.TrimSuffix(clean, "/")) {
			t.Fatalf("%q: got %q, want a local path", p, clean)
		}
		if again, err := new(files).cleanPath(clean); err != nil || again != clean {
			t.Fatalf("%q: got %q, and from that %q, %v, want the same", p, clean, again, err)
		}
		for part := range strings.SplitSeq(clean, "/") {
			if strings.HasPrefix(part, ".") && part != ".well-known" {
				t.Fatalf("%q: got %q, want no name with a dot", p, clean)
			}
		}
		if n := rootName(clean); !filepath.IsLocal(n) {
			t.Fatalf("%q: got the name %q, want a local one", p, n)
		}
	})
}

func TestListingEscapesAndSortsNames(t *testing.T) {
	dir := tree(t, map[string]string{"d/b.txt": strings.Repeat("x", 1536), "d/a<i>.html": "", "d/sub/x": "", "d/.hidden": "", "d/c:d.txt": "", "d/e?f#g.txt": "q"})
	s := serve(t, Config{Dir: dir, List: true})
	resp, body := get(t, s, "/d/")
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("got %d %v, want 200 and HTML", resp.StatusCode, resp.Header)
	}
	at := 0
	for _, want := range []string{
		`<html lang="en">`, `name="viewport"`, `light dark`, `href="../">Start<`, `aria-current="page">d<`, `<h1>Index of /d/</h1>`, `href="./sub/">sub/<`, `href="./a%3Ci%3E.html">a&lt;i&gt;.html<`,
		`1.5 KiB`, `href="./c:d.txt"`, `href="./e%3Ff%23g.txt">e?f#g.txt<`,
	} {
		i := strings.Index(body[at:], want)
		if i < 0 {
			t.Fatalf("got no %q after byte %d of\n%s", want, at, body)
		}
		at += i
	}
	if strings.Contains(body, ".hidden") || strings.Contains(body, "http:") || strings.Contains(body, "https:") {
		t.Errorf("got dotfiles or links to other hosts, want neither in\n%s", body)
	}
	if _, home := get(t, s, "/"); strings.Contains(home, `href="../"`) {
		t.Error("got a link to the parent of the root, want none")
	}
	if resp, _ := get(t, s, "/d"); resp.StatusCode != http.StatusMovedPermanently {
		t.Errorf("without the slash: got %d, want 301", resp.StatusCode)
	}
	if _, body := get(t, s, "/d/e%3Ff%23g.txt"); body != "q" {
		t.Errorf("the file of a listed name: got %q, want %q", body, "q")
	}
	if again, _ := get(t, s, "/d/", "If-None-Match", resp.Header.Get("Etag")); again.StatusCode != 304 {
		t.Errorf("the same listing again: got %d, want 304", again.StatusCode)
	}
}

func TestSizeIsWrittenWithItsUnit(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 1<<20 - 1: "1.0 MiB", 5 << 30: "5.0 GiB", 1<<63 - 1: "8.0 EiB"} {
		if got := formatSize(n); got != want {
			t.Errorf("got %d: %q, want %q", n, got, want)
		}
	}
}
