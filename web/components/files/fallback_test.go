package files

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/flow"
	"weir/web"
	"weir/web/internal/webtest"
)

// app is a single-page application, with what must not be served beside it.
var app = map[string]string{
	"index.html": "<p>app", "app.js": "js", "docs/index.html": "<p>docs", "assets/a.css": "css", ".env": "secret", ".git/config": "secret",
	".well-known/x": "yes", "page.php": "secret", "lib/Old.PHP.bak": "secret", "lib/tool.py": "secret", "odd.phtml": "secret",
}

func TestAPathWithoutAFileIsAnsweredByTheFallbackPage(t *testing.T) {
	dir := tree(t, app)
	webtest.EachWay(t, func(t *testing.T, way flow.Way) {
		for _, cache := range []string{"", "0"} {
			s := serveBy(t, Config{Dir: dir, Fallback: []string{"/index.html"}, Cache: cache}, way)
			for _, c := range []struct {
				target string
				status int
				body   string
			}{
				{"/", 200, "<p>app"},
				{"/app.js", 200, "js"},
				{"/users/7", 200, "<p>app"},
				{"/users/7/", 200, "<p>app"},
				{"/users/7?x=1", 200, "<p>app"},
				{"/app.js/x", 200, "<p>app"},
				{"/docs/", 200, "<p>docs"},
				{"/docs", 301, "301 Moved Permanently\n"},
				{"/assets", 200, "<p>app"}, // a folder without an index file is no file
				{"/assets/", 200, "<p>app"},
				{"/a/../../../etc/passwd", 200, "<p>app"}, // canonical: /etc/passwd
				{"/.well-known/x", 200, "yes"},
				{"/.well-known/none", 200, "<p>app"},
				{"/.env", 404, "404 Not Found\n"}, // a hidden name is as it is without a fallback
				{"/.none", 404, "404 Not Found\n"},
				{"/.git/config", 404, "404 Not Found\n"},
				{"/%2egit/config", 404, "404 Not Found\n"},
				{"/users%2F7", 400, "400 Bad Request: the path has an encoded slash (%2F)\n"},
			} {
				for range 2 { // the second time from memory
					resp, body := get(t, s, c.target)
					if resp.StatusCode != c.status || body != c.body {
						t.Errorf("cache %q: GET %s: got %d %q, want %d %q", cache, c.target, resp.StatusCode, body, c.status, c.body)
					}
				}
				head, body := ask(t, s, "HEAD", c.target)
				if head.StatusCode != c.status || body != "" || c.status == 200 && head.ContentLength != int64(len(c.body)) {
					t.Errorf("HEAD %s: got %d, length %d, body %q, want the header of a GET without a body", c.target, head.StatusCode, head.ContentLength, body)
				}
			}
		}
	})
}

// The fallback page is answered as if its own path had been requested: the client can revalidate
// it, and it has one entity tag under all paths.
func TestTheFallbackPageHasItsValidatorsAndRanges(t *testing.T) {
	s := serve(t, Config{Dir: tree(t, app), Fallback: []string{"index.html"}})
	own, _ := get(t, s, "/index.html")
	tag := own.Header.Get("Etag")
	resp, _ := get(t, s, "/users/7")
	if got := resp.Header; tag == "" || got.Get("Etag") != tag || got.Get("Last-Modified") != own.Header.Get("Last-Modified") || got.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("got the fields %v, want those of the page: %v", got, own.Header)
	}
	for _, c := range []struct {
		name, value string
		status      int
		body        string
	}{
		{"If-None-Match", tag, 304, ""},
		{"If-None-Match", `"other"`, 200, "<p>app"},
		{"If-Match", `"other"`, 412, "412 Precondition Failed\n"},
		{"If-Modified-Since", own.Header.Get("Last-Modified"), 304, ""},
		{"Range", "bytes=3-", 206, "app"},
	} {
		if resp, body := get(t, s, "/users/7", c.name, c.value); resp.StatusCode != c.status || body != c.body {
			t.Errorf("%s: %s: got %d %q, want %d %q", c.name, c.value, resp.StatusCode, body, c.status, c.body)
		}
	}
}

func TestOnlyGETAndHEADGetTheFallbackPage(t *testing.T) {
	s := serve(t, Config{Dir: tree(t, app), Fallback: []string{"/index.html"}})
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "PROPFIND"} {
		for _, target := range []string{"/users/7", "/app.js", "/.env"} {
			if resp, _ := ask(t, s, method, target); resp.StatusCode != 405 || resp.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: got %d, Allow: %q, want 405 with Allow: GET, HEAD", method, target, resp.StatusCode, resp.Header.Get("Allow"))
			}
		}
	}
}

func TestAFallbackPageThatIsMissingIsA404(t *testing.T) {
	dir := tree(t, app)
	s := serve(t, Config{Dir: dir, Fallback: []string{"/later.html"}})
	if resp, body := get(t, s, "/users/7"); resp.StatusCode != 404 || body != "404 Not Found\n" {
		t.Errorf("without the page: got %d %q, want 404", resp.StatusCode, body)
	}
	write(t, dir, "later.html", "<p>later")
	webtest.Until(t, "the page is served once it exists", func() bool {
		resp, body := get(t, s, "/users/7")
		return resp.StatusCode == 200 && body == "<p>later"
	})
}

// A link that leads out of the folder is no file: neither it nor its target is served.
func TestTheFallbackDoesNotLeaveTheFolder(t *testing.T) {
	outside := tree(t, map[string]string{"secret.txt": "secret", "www/index.html": "<p>app"})
	www := filepath.Join(outside, "www")
	if err := os.Symlink("../secret.txt", filepath.Join(www, "up.txt")); err != nil {
		t.Fatal(err)
	}
	s := serve(t, Config{Dir: www, Fallback: []string{"/index.html"}})
	for _, target := range []string{"/up.txt", "/../secret.txt", "/x/../../secret.txt", "/secret.txt"} {
		if resp, body := get(t, s, target); resp.StatusCode != 200 || body != "<p>app" {
			t.Errorf("GET %s: got %d %q, want the fallback page", target, resp.StatusCode, body)
		}
	}
	linked := serve(t, Config{Dir: www, Fallback: []string{"/up.txt"}})
	if resp, body := get(t, linked, "/none"); resp.StatusCode != 404 || strings.Contains(body, "secret") {
		t.Errorf("a fallback page that is a link out of the folder: got %d %q, want 404", resp.StatusCode, body)
	}
}

// behind answers what the files have passed on, with the path that it sees.
func behind() web.Component {
	return web.Source(func(c *web.Conn) web.Body { return web.String("behind " + c.Method() + " " + c.Path()) })
}

// served runs files that pass on what is no file, with a source behind them.
func serveBefore(t *testing.T, way flow.Way, cfg Config) string {
	t.Helper()
	f, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.(io.Closer).Close() })
	return webtest.Serve(t, way, web.Chain(f, behind()))
}

func TestWhatIsNoFileGoesToTheComponentBehind(t *testing.T) {
	dir := tree(t, app)
	webtest.EachWay(t, func(t *testing.T, way flow.Way) {
		s := serveBefore(t, way, Config{Dir: dir, Fallback: []string{"next"}, Strip: "/app"})
		for _, c := range []struct {
			method, target string
			status         int
			body           string
		}{
			{"GET", "/app/app.js", 200, "js"},
			{"GET", "/app/docs/", 200, "<p>docs"},
			{"GET", "/app/docs", 301, "301 Moved Permanently\n"},
			{"GET", "/app/users/7?x", 200, "behind GET /app/users/7"},
			{"GET", "/app/assets/", 200, "behind GET /app/assets/"},
			{"GET", "/app/assets", 200, "behind GET /app/assets"},
			{"GET", "/other", 200, "behind GET /other"},
			{"GET", "/application", 200, "behind GET /application"},
			{"GET", "/app/a/../b//c", 200, "behind GET /app/b/c"},
			{"POST", "/app/users/7", 200, "behind POST /app/users/7"},
			{"OPTIONS", "/app/users/7", 200, "behind OPTIONS /app/users/7"},
			{"POST", "/app/app.js", 405, "405 Method Not Allowed\n"},
			{"OPTIONS", "/app/docs/", 405, "405 Method Not Allowed\n"},
			{"POST", "/app/docs", 405, "405 Method Not Allowed\n"},
			{"GET", "/app/.env", 404, "404 Not Found\n"}, // a hidden name is not passed on
			{"GET", "/app/.git/config", 404, "404 Not Found\n"},
			{"POST", "/app/.env", 405, "405 Method Not Allowed\n"},
		} {
			resp, body := ask(t, s, c.method, c.target)
			if resp.StatusCode != c.status || body != c.body {
				t.Errorf("%s %s: got %d %q, want %d %q", c.method, c.target, resp.StatusCode, body, c.status, c.body)
			}
		}
	})
}

// Files that pass on stand before an application, in whose folder its programs are: these are for
// the application to run.
func TestProgramsArePassedOnAndNotServed(t *testing.T) {
	dir := tree(t, app)
	s := serveBefore(t, flow.Chain, Config{Dir: dir, Fallback: []string{"next"}})
	for _, target := range []string{"/page.php", "/PAGE.PHP", "/page.php/info", "/page%2ephp", "/lib/Old.PHP.bak", "/lib/tool.py", "/odd.phtml", "/page.php~"} {
		if resp, body := get(t, s, target); resp.StatusCode != 200 || !strings.HasPrefix(body, "behind GET /") {
			t.Errorf("GET %s: got %d %q, want it passed on", target, resp.StatusCode, body)
		}
	}
	more := serveBefore(t, flow.Chain, Config{Dir: dir, Fallback: []string{"next"}, Hide: []string{"app.js"}})
	for _, target := range []string{"/page.php", "/app.js"} {
		if _, body := get(t, more, target); body != "behind GET "+target {
			t.Errorf("GET %s, with a pattern more: got %q, want it passed on", target, body)
		}
	}
	all := serveBefore(t, flow.Chain, Config{Dir: dir, Fallback: []string{"next"}, Hide: []string{}})
	if _, body := get(t, all, "/lib/tool.py"); body != "secret" {
		t.Errorf("with hide = []: got %q, want the file", body)
	}
	if _, body := get(t, serve(t, Config{Dir: dir}), "/lib/tool.py"); body != "secret" {
		t.Errorf("files that pass nothing on: got %q, want the file, as they are a folder of downloads", body)
	}
}

func TestHiddenNamesAreNotFound(t *testing.T) {
	s := serve(t, Config{Dir: tree(t, app), Hide: []string{"*.PHP*", "lib", "a.???"}, List: true})
	for target, want := range map[string]int{"/page.php": 404, "/lib/tool.py": 404, "/lib/": 404, "/LIB": 404, "/assets/a.css": 404, "/app.js": 200, "/assets/": 200} {
		if resp, _ := get(t, s, target); resp.StatusCode != want {
			t.Errorf("GET %s: got %d, want %d", target, resp.StatusCode, want)
		}
	}
	if _, body := get(t, s, "/assets/"); strings.Contains(body, "a.css") {
		t.Errorf("got a listing with a hidden name:\n%s", body)
	}
}

func TestADirectoryWhoseIndexFileIsHiddenHasNone(t *testing.T) {
	dir := tree(t, app)
	for target, want := range map[string]int{"/": 404, "/docs/": 404, "/docs": 301, "/app.js": 200} {
		if resp, _ := get(t, serve(t, Config{Dir: dir, Hide: []string{"*.htm*"}}), target); resp.StatusCode != want {
			t.Errorf("GET %s: got %d, want %d", target, resp.StatusCode, want)
		}
	}
	s := serveBefore(t, flow.Chain, Config{Dir: dir, Hide: []string{"*.htm*"}, Fallback: []string{"next"}})
	for _, target := range []string{"/", "/docs/", "/docs"} {
		if _, body := get(t, s, target); body != "behind GET "+target {
			t.Errorf("GET %s: got %q, want it passed on", target, body)
		}
	}
}

func TestInvalidFallbacksAreRejected(t *testing.T) {
	dir := tree(t, app)
	for want, cfg := range map[string]Config{
		`files: fallback is "/", which does not name a file below dir`:                {Dir: dir, Fallback: []string{"/"}},
		`files: fallback is "/../x", which does not name a file below dir`:            {Dir: dir, Fallback: []string{"../x"}},
		`files: fallback is "/.env", which is hidden`:                                 {Dir: dir, Fallback: []string{"/.env"}},
		`files: fallback is "/page.php", which is hidden`:                             {Dir: dir, Fallback: []string{"/page.php"}, Hide: []string{"*.php"}},
		`files: fallback: "{path}/index.html" does not name another file in a folder`: {Dir: dir, Fallback: []string{"{path}/index.html"}},
		`files: fallback: "{path}" does not name another file in a folder`:            {Dir: dir, Fallback: []string{"{path}"}},
		`files: fallback: "{path}{path}.html" has braces other than one {path}`:       {Dir: dir, Fallback: []string{"{path}{path}.html"}},
		`files: fallback: "{file}.html" has braces other than one {path}`:             {Dir: dir, Fallback: []string{"{file}.html"}},
		`files: fallback is "/../x.html", which does not name a file below dir`:       {Dir: dir, Fallback: []string{"../{path}.html"}},
		`files: fallback is "{path}.php", which is hidden`:                            {Dir: dir, Fallback: []string{"{path}.php", "next"}},
		`files: fallback has 17 elements, the maximum is 16`:                          {Dir: dir, Fallback: slices.Repeat([]string{"/a"}, 17)},
		`files: index is "index.php", which is hidden`:                                {Dir: dir, Fallback: []string{"next"}, Index: "index.php"},
		`files: hide has "[", which is not a pattern of names`:                        {Dir: dir, Hide: []string{"["}},
		`files: hide has "a/b", which is not a pattern of names`:                      {Dir: dir, Hide: []string{"a/b"}},
	} {
		if c, err := New(cfg); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", cfg, err, want)
			if err == nil {
				c.(io.Closer).Close()
			}
		}
	}
}

// pages are a site whose addresses have no extension.
var pages = map[string]string{
	"index.html": "home", "about.html": "about", "team/index.html": "team", "team.html": "the other team", "team/ann.html": "ann", ".hidden.html": "secret",
	"private/notes.html": "notes", "de/about.html": "über", "draft.html": "draft", "only.txt": "only",
}

func TestTheFirstPageOfTheFallbackThatExistsAnswers(t *testing.T) {
	dir := tree(t, pages)
	webtest.EachWay(t, func(t *testing.T, way flow.Way) {
		s := serveBy(t, Config{Dir: dir, Strip: "/site", Hide: []string{"draft*"}, Fallback: []string{"{path}.html", "/de{path}.html", "{path}.txt", "/none.html", "/index.html"}}, way)
		for _, c := range []struct{ target, body string }{
			{"/site/about", "about"},
			{"/site/%61bout?x=1", "about"},
			{"/site//x/../about", "about"},
			{"/site/team/ann", "ann"},
			{"/site/team/", "team"},
			{"/site/about/", "home"}, // a folder has no such page
			{"/site/about;x", "home"},
			{"/site/only", "only"},
			{"/site/draft", "home"}, // hidden
			{"/site/none", "home"},
			{"/other/about", "home"}, // outside of what is served, as before
		} {
			for range 2 { // the second time from memory
				if resp, body := get(t, s, c.target); resp.StatusCode != 200 || body != c.body {
					t.Errorf("GET %s: got %d %q, want 200 %q", c.target, resp.StatusCode, body, c.body)
				}
			}
		}
		if resp, body := get(t, s, "/site/.hidden"); resp.StatusCode != 404 {
			t.Errorf("GET of a hidden name: got %d %q, want 404", resp.StatusCode, body)
		}
		if resp, _ := get(t, s, "/site/team"); resp.StatusCode != 301 {
			t.Errorf("GET of a folder: got %d, want the redirect to its slash, which comes first", resp.StatusCode)
		}
	})
}

func TestWhatNoPageOfTheFallbackNamesGoesToTheComponentBehind(t *testing.T) {
	dir := tree(t, pages)
	webtest.EachWay(t, func(t *testing.T, way flow.Way) {
		s := serveBefore(t, way, Config{Dir: dir, Fallback: []string{"{path}.html", "next"}})
		for _, c := range []struct {
			method, target string
			status         int
			body           string
		}{
			{"GET", "/about", 200, "about"},
			{"GET", "/none", 200, "behind GET /none"},
			{"POST", "/none", 200, "behind POST /none"},
			{"POST", "/about", 405, "405 Method Not Allowed\n"},
		} {
			if resp, body := ask(t, s, c.method, c.target); resp.StatusCode != c.status || body != c.body {
				t.Errorf("%s %s: got %d %q, want %d %q", c.method, c.target, resp.StatusCode, body, c.status, c.body)
			}
		}
	})
}

// Without a component behind them, files that pass on answer 404, as every composition does.
func TestNothingBehindIsA404(t *testing.T) {
	s := serve(t, Config{Dir: tree(t, app), Fallback: []string{"next"}})
	if resp, _ := get(t, s, "/none"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("got %d, want 404", resp.StatusCode)
	}
}
