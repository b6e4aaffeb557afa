package page

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/chat"
	"weir/chat/upload"
)

// filesHost is a host with uploads and two accounts.
func filesHost(t *testing.T, o upload.Options) *host {
	t.Helper()
	h := &host{t: t, dir: t.TempDir(), addr: "127.0.0.1:0", o: chat.Options{UploadURL: "https://chat.example.org/upload"}, cfg: Config{Origins: []string{"*.friends.example"}, OwnHost: func(name string) bool { return name == "chat.example.org" }}}
	h.account("ann", "correct-horse")
	h.account("bob", "battery-staple")
	var err error
	if h.cfg.Uploads, err = upload.Open(h.dir, o); err != nil {
		t.Fatal(err)
	}
	h.run()
	t.Cleanup(h.halt)
	return h
}

// ask sends a request. header contains names and values alternately.
func (h *host) ask(method, path, body string, header ...string) (*http.Response, string) {
	h.t.Helper()
	r, err := http.NewRequest(method, path, strings.NewReader(body))
	if strings.HasPrefix(path, "/") {
		r, err = http.NewRequest(method, "http://"+h.addr+path, strings.NewReader(body))
	}
	if err != nil {
		h.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if name := r.Header.Get("Basic"); name != "" {
		r.Header.Del("Basic")
		who, password, _ := strings.Cut(name, ":")
		r.SetBasicAuth(who, password)
	}
	res, err := h.server.Client().Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return res, string(text)
}

// token requests a token for one upload.
func (h *host) token(nick, password string) string {
	h.t.Helper()
	c := h.client(textProtocol)
	c.send("CAP REQ draft/search", "PASS "+nick+":"+password, "NICK "+nick, "USER "+nick+" 0 * :"+nick, "CAP END")
	c.until(" 221 ")
	c.send("FILEHOST TOKEN")
	_, token, _ := strings.Cut(c.until(" FILEHOST TOKEN "), " FILEHOST TOKEN ")
	return token
}

func TestUploadByTokenAndDownloadByLink(t *testing.T) {
	h := filesHost(t, upload.Options{})
	token := h.token("ann", "correct-horse")
	res, text := h.ask("POST", "/upload", "a boat", "Authorization", "Bearer "+token, "Content-Type", "image/png", "Content-Disposition", `inline; filename*=UTF-8''H%C3%A4fen%2Fboat%20%231.txt`)
	where := res.Header.Get("Location")
	if res.StatusCode != 201 || !strings.HasPrefix(where, "/file/") || text != "http://"+h.addr+where+"\n" {
		t.Fatalf("upload: got %s, Location %q and body %q; want 201 with the link", res.Status, where, text)
	}
	res, text = h.ask("GET", where, "")
	if res.StatusCode != 200 || text != "a boat" {
		t.Errorf("download: got %s %q, want 200 and the uploaded text", res.Status, text)
	}
	for name, want := range map[string]string{"Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff", "Content-Disposition": `inline; filename="boat #1.txt"`,
		"Content-Security-Policy": filePolicy, "Cache-Control": "private, max-age=604800, immutable"} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("header %s: got %q, want %q", name, got, want)
		}
	}
	tag := res.Header.Get("ETag")
	if res, text = h.ask("GET", where, "", "Range", "bytes=2-3"); res.StatusCode != 206 || text != "bo" {
		t.Errorf("Range request: got %s %q, want 206 and bo", res.Status, text)
	}
	if res, text = h.ask("GET", where, "", "If-None-Match", tag); res.StatusCode != 304 || text != "" {
		t.Errorf("If-None-Match: got %s %q, want 304", res.Status, text)
	}
	if res, _ = h.ask("HEAD", where, ""); res.StatusCode != 200 || res.ContentLength != 6 {
		t.Errorf("HEAD: got %s and length %d, want 200 and 6", res.Status, res.ContentLength)
	}
	if res, _ = h.ask("POST", "/upload", "again", "Authorization", "Bearer "+token); res.StatusCode != 401 || res.Header.Get("WWW-Authenticate") != `Bearer realm="upload"` {
		t.Errorf("a used token: got %s, want 401", res.Status)
	}
}

func TestUploadByPassword(t *testing.T) {
	h := filesHost(t, upload.Options{})
	h.service.Configure(chat.Options{UploadURL: "http://" + h.addr + "/upload"})
	for _, who := range []string{"ann:correct-horse", "ANN@laptop:correct-horse"} {
		res, text := h.ask("PUT", "/upload/boat%20trip.png", "\x89PNG\r\n\x1a\n....", "Basic", who)
		if res.StatusCode != 201 || res.Header.Get("Location")+"\n" != text {
			t.Fatalf("upload: got %s, Location %q and body %q; want 201 with the link", res.Status, res.Header.Get("Location"), text)
		}
		res, _ = h.ask("GET", strings.TrimSpace(text), "")
		if res.StatusCode != 200 || res.Header.Get("Content-Type") != "image/png" || res.Header.Get("Content-Disposition") != `inline; filename="boat trip.png"` {
			t.Errorf("download: got %s with headers %v, want 200, image/png, and the file name shown inline", res.Status, res.Header)
		}
	}
}

func TestUnauthorizedUploadsAreRefused(t *testing.T) {
	h := filesHost(t, upload.Options{MaxBytes: 100})
	good := []string{"Basic", "ann:correct-horse"}
	for what, c := range map[string]struct {
		status int
		body   string
		header []string
	}{
		"no credentials":      {401, "x", nil},
		"a wrong password":    {401, "x", []string{"Basic", "ann:wrong-password"}},
		"an unknown account":  {401, "x", []string{"Basic", "zoe:correct-horse"}},
		"an unknown token":    {401, "x", []string{"Authorization", "Bearer AAAA"}},
		"rubbish":             {401, "x", []string{"Authorization", "Basic %%%"}},
		"another host's page": {403, "x", append(good, "Origin", "https://evil.example")},
		"another site's form": {403, "x", append(good, "Sec-Fetch-Site", "cross-site")},
		"a form":              {415, "x", append(good, "Content-Type", "multipart/form-data; boundary=x")},
		"a file too large":    {413, strings.Repeat("x", 101), good},
		"an allowed origin":   {201, "x", append(good, "Origin", "https://chat.friends.example")},
	} {
		if res, text := h.ask("POST", "/upload", c.body, c.header...); res.StatusCode != c.status || text == "" {
			t.Errorf("%s: got %s %q, want %d", what, res.Status, text, c.status)
		}
	}
	for _, path := range []string{"/file/", "/file/x/y", "/file/" + strings.Repeat("0", 64) + "/x", "/file/..%2f..%2faccounts/x", "/upload"} {
		if res, _ := h.ask("GET", path, ""); res.StatusCode != 404 && res.StatusCode != 405 {
			t.Errorf("GET %s: got %s, want 404 or 405", path, res.Status)
		}
	}
	res, _ := h.ask("OPTIONS", "/upload", "", "Origin", "https://chat.friends.example")
	if res.StatusCode != 204 || res.Header.Get("Allow") != "OPTIONS, POST" || res.Header.Get("Access-Control-Allow-Origin") != "https://chat.friends.example" {
		t.Errorf("OPTIONS: got %s with headers %v, want 204, Allow and the page's origin allowed", res.Status, res.Header)
	}
}

func TestPasswordGuessesAreThrottled(t *testing.T) {
	h := filesHost(t, upload.Options{})
	token, counts := h.token("ann", "correct-horse"), map[int]int{}
	for range 70 {
		res, _ := h.ask("POST", "/upload", "x", "Basic", "ann:wrong-password")
		counts[res.StatusCode]++
		if wait := res.Header.Get("Retry-After"); (res.StatusCode == 429) != (wait != "") {
			t.Errorf("status %s: got Retry-After %q, want it with 429 only", res.Status, wait)
		}
	}
	if counts[401] < 10 || counts[429] < 5 || counts[401]+counts[429] != 70 {
		t.Errorf("70 wrong passwords: got statuses %v, want some 401 and then 429", counts)
	}
	if res, _ := h.ask("POST", "/upload", "x", "Authorization", "Bearer "+token); res.StatusCode != 201 {
		t.Errorf("upload by token meanwhile: got %s, want 201", res.Status)
	}
}

// TestIncompleteBodyIsDiscarded: an incomplete upload leaves no file, and a slow one does not delay
// others.
func TestIncompleteBodyIsDiscarded(t *testing.T) {
	h := filesHost(t, upload.Options{})
	slow, err := net.Dial("tcp", h.addr)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(slow, "POST /upload HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: 1000\r\n\r\nhalf", h.addr, h.token("ann", "correct-horse"))
	partial := filepath.Join(h.dir, "uploads", ".new-*")
	waitUntil(t, func() bool { names, _ := filepath.Glob(partial); return len(names) == 1 })
	if res, _ := h.ask("POST", "/upload", "quick", "Basic", "bob:battery-staple"); res.StatusCode != 201 {
		t.Errorf("upload beside a slow one: got %s, want 201", res.Status)
	}
	if err := slow.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	slow.SetReadDeadline(time.Now().Add(time.Minute))
	if res, err := http.ReadResponse(bufio.NewReader(slow), nil); err != nil || res.StatusCode != 400 {
		t.Errorf("incomplete body: got %+v and error %v, want 400", res, err)
	}
	slow.Close()
	waitUntil(t, func() bool { names, _ := filepath.Glob(partial); return len(names) == 0 })
	if n, _ := h.cfg.Uploads.Usage(); n != 1 {
		t.Errorf("files after an incomplete upload: got %d, want 1", n)
	}
}

func TestSlowUploadTimesOut(t *testing.T) {
	h := filesHost(t, upload.Options{})
	token := h.token("ann", "correct-horse")
	h.page.uploadTimeout = 20 * time.Millisecond
	slow, err := net.Dial("tcp", h.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	slow.SetReadDeadline(time.Now().Add(time.Minute))
	fmt.Fprintf(slow, "POST /upload HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: 1000\r\n\r\nhalf", h.addr, token)
	if res, err := http.ReadResponse(bufio.NewReader(slow), nil); err != nil || res.StatusCode != 400 || !res.Close {
		t.Errorf("upload after the timeout: got %+v and error %v, want 400 and close", res, err)
	}
	if names, _ := filepath.Glob(filepath.Join(h.dir, "uploads", ".new-*")); len(names) > 0 {
		t.Errorf("files left after the timeout: got %q, want none", names)
	}
}

func waitUntil(t *testing.T, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the condition of this line did not hold within a minute, want it to")
		}
	}
}

func TestISupportAnnouncesTheUploadURL(t *testing.T) {
	h := filesHost(t, upload.Options{})
	c := h.client(textProtocol)
	c.send("NICK guest", "USER guest 0 * :guest")
	if line := c.until("draft/FILEHOST="); !strings.Contains(line, " draft/FILEHOST=https://chat.example.org/upload soju.im/FILEHOST=https://chat.example.org/upload ") {
		t.Errorf("ISUPPORT: got %q, want the upload URL", line)
	}
	c.send("FILEHOST TOKEN")
	c.until(" FAIL FILEHOST ACCOUNT_REQUIRED ")
	c.send("FILEHOST WHATEVER")
	c.until(" FAIL FILEHOST INVALID_PARAMS WHATEVER ")
	c.send("UPLOAD")
	c.until("curl -u guest -T FILE https://chat.example.org/upload/")
}

func TestRemovedFileIsNotServed(t *testing.T) {
	h := filesHost(t, upload.Options{})
	res, _ := h.ask("POST", "/upload", "bad", "Basic", "ann:correct-horse")
	where := res.Header.Get("Location")
	if _, err := upload.Remove(h.dir, where, time.Now()); err != nil {
		t.Fatal(err)
	}
	if res, _ := h.ask("GET", where, ""); res.StatusCode != 404 {
		t.Errorf("removed file: got %s, want 404", res.Status)
	}
	if res, text := h.ask("POST", "/upload", "bad", "Basic", "bob:battery-staple"); res.StatusCode != 403 || text != "An administrator has removed this file\n" {
		t.Errorf("upload of the removed content: got %s %q, want 403", res.Status, text)
	}
	if _, err := os.Stat(filepath.Join(h.dir, "uploads")); err != nil {
		t.Errorf("the folder uploads after the removal: got %v, want it kept", err)
	}
}
