package docs

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
)

func TestTheBlogOfTheSitesServesItsPages(t *testing.T) {
	exampleSite{"blog", func(t *testing.T, dir string) []string {
		for name, text := range map[string]string{
			"index.html": "<h1>Weir</h1>" + strings.Repeat("<p>It flows", 100), "2026/dam/index.html": "<h1>The dam</h1>", "404.html": "<h1>No such page</h1>",
			"feed.xml": "<feed/>", "drafts/next.html": "not yet", "assets/site.3f2a.css": "h1 {}",
		} {
			put(t, dir, "www/"+name, text)
		}
		return nil
	}, func(t *testing.T, s *servedSite) {
		s.answers(t, map[string]siteAnswer{
			"/": {200, "<h1>Weir</h1>"}, "/2026/dam/": {200, "The dam"}, "/2026/dam": {301, ""}, "/none": {404, "No such page"}, "/drafts/next.html": {404, "No such page"},
			"/feed.xml": {200, "<feed/>"}, "/feed": {301, ""}, "/.git/config": {404, ""},
		})
		page, _ := s.get(t, "/")
		if page.Header.Get("Content-Security-Policy") == "" || page.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("a page: got %v, want the fields of security", page.Header)
		}
		if again, _ := s.get(t, "/", "If-None-Match", page.Header.Get("Etag")); again.StatusCode != 304 {
			t.Errorf("the page again: got %d, want 304", again.StatusCode)
		}
		if small, body := s.get(t, "/", "Accept-Encoding", "gzip"); small.Header.Get("Content-Encoding") != "gzip" || len(body) > 500 {
			t.Errorf("with gzip: got %v and %d bytes, want it compressed", small.Header, len(body))
		}
		if style, _ := s.get(t, "/assets/site.3f2a.css"); style.Header.Get("Cache-Control") != "public, max-age=31536000, immutable" {
			t.Errorf("an asset: got Cache-Control %q, want a year", style.Header.Get("Cache-Control"))
		}
		if feed, _ := s.get(t, "/feed"); feed.Header.Get("Location") != "/feed.xml" {
			t.Errorf("/feed: got Location %q, want /feed.xml", feed.Header.Get("Location"))
		}
		until(t, "the requests are in the log", func() bool {
			text, _ := os.ReadFile(filepath.Join(s.dir, "access.log"))
			return strings.Contains(string(text), `"GET /2026/dam/ HTTP/1.1" 200`)
		})
	}}.run(t, processVariants...)
}

// machine is an upstream of the site proxy.
type machine struct {
	*httptest.Server
	ill atomic.Bool // it fails its health checks
}

func startMachine(t *testing.T, name string) *machine {
	m := &machine{}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/healthz" && m.ill.Load():
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/chat":
			echoOneMessage(t, w, r)
		default:
			fmt.Fprintf(w, "%s of %s for %s, id %t", r.URL.Path, name, r.Header.Get("X-Forwarded-For"), r.Header.Get("X-Request-Id") != "")
		}
	}))
	t.Cleanup(m.Close)
	return m
}

// echoOneMessage is a WebSocket that echoes a message, and waits for the client to close it.
func echoOneMessage(t *testing.T, w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		t.Errorf("accepting a WebSocket: got %v, want nil", err)
		return
	}
	defer c.CloseNow()
	kind, text, err := c.Read(r.Context())
	if err == nil {
		err = c.Write(r.Context(), kind, append([]byte("echo of "), text...))
	}
	if err != nil {
		t.Errorf("echoing: got %v, want nil", err)
	}
	_, _, _ = c.Read(r.Context()) // the close
}

func TestTheProxyOfTheSitesBalancesAndPassesWebSockets(t *testing.T) {
	var first, second *machine
	exampleSite{"proxy", func(t *testing.T, dir string) []string {
		first, second = startMachine(t, "first"), startMachine(t, "second")
		put(t, dir, "sorry.html", "<h1>Back soon</h1>")
		return []string{"http://10.0.0.1:9000", first.URL, "http://10.0.0.2:9000", second.URL, `"2s"`, `"50ms"`, "127.0.0.1:9393", "127.0.0.1:0"}
	}, func(t *testing.T, s *servedSite) {
		served := func(n int) (count map[string]int) {
			count = map[string]int{}
			for range n {
				resp, body := s.get(t, "/")
				path, rest, _ := strings.Cut(body, " of ")
				name, _, _ := strings.Cut(rest, " ")
				if resp.StatusCode == 200 && (path != "/" || !strings.HasSuffix(body, "for 127.0.0.1, id true")) {
					t.Errorf("got %q, want the client's address and an identifier to be passed on", body)
				}
				count[fmt.Sprint(resp.StatusCode, " ", name)]++
			}
			return count
		}
		// An exchange may still be counted as active when its client has the response.
		until(t, "8 requests are shared in proportion to the weights 3 and 1", func() bool {
			count := served(8)
			return count["200 first"] == 6 && count["200 second"] == 2
		})
		if resp, _ := s.fetch(t, "POST", "/", strings.Repeat("x", 11<<20), "Expect", "100-continue"); resp.StatusCode != 413 {
			t.Errorf("a body of 11 MB: got %d, want 413", resp.StatusCode)
		}
		talk(t, s)
		first.ill.Store(true)
		until(t, "the first machine is out of service", func() bool { return served(4)["200 second"] == 4 })
		second.ill.Store(true)
		until(t, "both are", func() bool { return served(1)["503 "] == 1 })
		if resp, body := s.get(t, "/", "Accept", "text/html"); resp.StatusCode != 503 || !strings.Contains(body, "Back soon") {
			t.Errorf("no upstream: got %d %q, want 503 with the page", resp.StatusCode, body)
		}
		first.ill.Store(false)
		second.ill.Store(false)
		until(t, "both are back", func() bool { return served(8)["200 first"] == 6 })
		text, err := os.ReadFile(filepath.Join(s.dir, "site.hcl"))
		if err != nil {
			t.Fatal(err)
		}
		put(t, s.dir, "new.hcl", strings.Replace(string(text), `" = 3`, `" = 0`, 1))
		if err := os.Rename(filepath.Join(s.dir, "new.hcl"), filepath.Join(s.dir, "site.hcl")); err != nil {
			t.Fatal(err)
		}
		until(t, "the first machine is drained", func() bool { return served(8)["200 second"] == 8 })
	}}.run(t)
}

// talk sends a message over a WebSocket.
func talk(t *testing.T, s *servedSite) {
	t.Helper()
	c, resp, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(s.url, "http")+"/chat", &websocket.DialOptions{HTTPClient: &http.Client{Transport: siteClient.Transport}})
	if err != nil {
		t.Fatalf("a WebSocket: got %v, want it through the proxy (%v)", err, resp)
	}
	defer c.CloseNow()
	if err := c.Write(t.Context(), websocket.MessageText, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, text, err := c.Read(t.Context()); err != nil || string(text) != "echo of hello" {
		t.Errorf("a message over the WebSocket: got %q, %v, want its echo", text, err)
	}
	_ = c.Close(websocket.StatusNormalClosure, "")
}

func TestTheApplicationOfTheSitesAdmitsUsersAndTokens(t *testing.T) {
	secret := strings.Repeat("k", 32)
	exampleSite{"application", func(t *testing.T, dir string) []string {
		up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "%s for %q", r.URL.Path, r.Header["X-Remote-User"])
		}))
		t.Cleanup(up.Close)
		password := exec.Command(weirBinary(t), "serve", "password", "--cost", "4", "ann")
		password.Stdin = strings.NewReader("sesame\n")
		line, err := password.Output()
		if err != nil {
			t.Fatal(err)
		}
		put(t, dir, "users", string(line))
		put(t, dir, "secret", secret)
		put(t, dir, "login.html", "<h1>Log in</h1>")
		put(t, dir, "www/index.html", "<h1>The application</h1>")
		return []string{"http://127.0.0.1:9000", up.URL}
	}, func(t *testing.T, s *servedSite) {
		basic := func(password string) string {
			return "Basic " + base64.StdEncoding.EncodeToString([]byte("ann:"+password))
		}
		s.answers(t, map[string]siteAnswer{"/": {200, "The application"}, "/any/view": {200, "The application"}, "/private/x": {401, "Log in"}, "/any/../private/x": {401, "Log in"}, "/api/x": {401, ""}})
		if resp, _ := s.get(t, "/private/x"); !strings.Contains(resp.Header.Get("Www-Authenticate"), `realm="the application"`) {
			t.Errorf("without a login: got %v, want a challenge", resp.Header)
		}
		if resp, body := s.get(t, "/private/x", "Authorization", basic("sesame"), "X-Remote-User", "root"); resp.StatusCode != 200 || body != `/private/x for ["ann"]` {
			t.Errorf("with a login: got %d %q, want the application to learn the user, and not the client's own field", resp.StatusCode, body)
		}
		for _, c := range []struct {
			token  string
			status int
		}{{signedToken(secret, "https://api.example.org"), 200}, {signedToken(secret, "https://other.example.org"), 401}, {signedToken("another", "https://api.example.org"), 401}} {
			if resp, body := s.get(t, "/api/x", "Authorization", "Bearer "+c.token); resp.StatusCode != c.status || c.status == 200 && body != `/api/x for ["bot"]` {
				t.Errorf("token %s: got %d %q, want %d", c.token, resp.StatusCode, body, c.status)
			}
		}
		for _, target := range []string{"/private/x", "/api/x"} {
			until(t, target+" limits wrong logins and requests", func() bool {
				resp, _ := s.get(t, target, "Authorization", basic("wrong"))
				return resp.StatusCode == 429 && resp.Header.Get("Retry-After") != ""
			})
		}
		if resp, _ := s.get(t, "/private/x", "Authorization", basic("sesame")); resp.StatusCode != 200 {
			t.Errorf("the user who was verified before: got %d, want 200", resp.StatusCode)
		}
	}}.run(t)
}

// signedToken returns a token for the user bot, valid for an hour.
func signedToken(secret, audience string) string {
	code := base64.RawURLEncoding.EncodeToString
	text := code([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." +
		code(fmt.Appendf(nil, `{"iss":"https://login.example.org","aud":%q,"sub":"bot","exp":%d}`, audience, time.Now().Add(time.Hour).Unix()))
	sum := hmac.New(sha256.New, []byte(secret))
	sum.Write([]byte(text))
	return text + "." + code(sum.Sum(nil))
}

func TestTheImagesOfTheSitesHaveTheirWidthsAndMark(t *testing.T) {
	exampleSite{"images", func(t *testing.T, dir string) []string {
		plain := func(width, height int, c color.Color) *image.NRGBA {
			p := image.NewNRGBA(image.Rect(0, 0, width, height))
			draw.Draw(p, p.Bounds(), image.NewUniform(c), image.Point{}, draw.Src)
			return p
		}
		var photo, mark bytes.Buffer
		if err := jpeg.Encode(&photo, plain(1600, 1200, color.NRGBA{20, 40, 200, 255}), nil); err != nil {
			t.Fatal(err)
		}
		if err := png.Encode(&mark, plain(60, 40, color.NRGBA{255, 0, 0, 255})); err != nil {
			t.Fatal(err)
		}
		put(t, dir, "www/photos/dam.jpg", photo.String())
		put(t, dir, "www/index.html", "<h1>Photos</h1>")
		put(t, dir, "mark.png", mark.String())
		return nil
	}, func(t *testing.T, s *servedSite) {
		s.answers(t, map[string]siteAnswer{"/": {200, "Photos"}, "/photos/dam.jpg?w=641": {400, "320, 640, 1280"}, "/photos/none.jpg?w=640": {404, ""}})
		for query, width := range map[string]int{"": 1600, "?w=1280": 1280, "?w=640": 640, "?w=320": 320} {
			for _, status := range []string{"weir; fwd=uri-miss", "weir; hit"} {
				resp, body := s.get(t, "/photos/dam.jpg"+query)
				p, err := jpeg.Decode(strings.NewReader(body))
				if err != nil {
					t.Fatalf("%s: got %d and %v, want a JPEG", query, resp.StatusCode, err)
				}
				r, _, _, _ := p.At(width-30, width*3/4-30).RGBA() // in the corner of the mark
				if p.Bounds().Dx() != width || r>>8 < 150 || resp.Header.Get("Cache-Status") != status {
					t.Errorf("%s: got a width of %d, %d of 255 red, %q; want %d with the mark, %q", query, p.Bounds().Dx(), r>>8, resp.Header.Get("Cache-Status"), width, status)
				}
			}
		}
		usual, full := s.get(t, "/photos/dam.jpg?w=640")
		saving, small := s.get(t, "/photos/dam.jpg?w=640", "Save-Data", "on")
		if len(small) >= len(full) || usual.Header.Get("Vary") != "Save-Data" || saving.Header.Get("Vary") != "Save-Data" {
			t.Errorf("Save-Data: got %d bytes, without it %d, Vary %q; want fewer, and Vary: Save-Data", len(small), len(full), saving.Header.Get("Vary"))
		}
		if again, _ := s.get(t, "/photos/dam.jpg?w=640", "If-None-Match", usual.Header.Get("Etag")); again.StatusCode != 304 {
			t.Errorf("the picture again: got %d, want 304", again.StatusCode)
		}
	}}.run(t)
}
