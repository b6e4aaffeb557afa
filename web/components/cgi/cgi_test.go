package cgi

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"weir/flow"
	"weir/web"
	"weir/web/internal/client"
	"weir/web/internal/webtest"
)

func bin(cfg Config) func() (web.Component, error) {
	cfg.Dir, cfg.Prefix = "testdata/bin", "/cgi-bin"
	return func() (web.Component, error) { return New(cfg) }
}

// Programs trust these variables, so a client must not be able to set them.
func TestClientCannotSetForwardingOrConfiguredVariables(t *testing.T) {
	at := location{name: "/p", info: "/x"}
	fields := []string{"X-Forwarded-For", "Forwarded", "X-Real-Ip", "X-Forwarded-Host", "X-Original-Url", "X-Rewrite-Url", "Client-Ip", "Mine"}
	for _, peer := range []string{"", "10.0.0.1:1"} {
		variable := map[string]string{}
		webtest.EachWay(t, func(t *testing.T, way flow.Way) {
			webtest.Get(t, webtest.Serve(t, way, web.Pipe(func(c *web.Conn) {
				if peer != "" {
					c.WithContext(client.WithProxyAddr(c.Context(), peer))
				}
				for _, name := range fields {
					c.SetRequestHeader(name, "/admin")
				}
				for _, v := range variables(c, at, -1, map[string]string{"HTTP_MINE": "config"}) {
					variable[v.Name] = v.Value
				}
				c.Reply(204)
			})))
		})
		for _, name := range fields {
			name = "HTTP_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
			want := ""
			// a client cannot set a variable of the configuration
			if peer != "" && name != "HTTP_MINE" {
				want = "/admin"
			}
			if got := variable[name]; got != want {
				t.Errorf("behind the front %q: %s is %q, want %q", peer, name, got, want)
			}
		}
	}
}

func TestConnectIsRejected(t *testing.T) {
	component := func() (web.Component, error) { return New(Config{Program: "testdata/bin/hello"}) }
	bothWays(t, component, func(t *testing.T, url string, _ web.Component, _ <-chan webtest.ExchangeEnd) {
		if resp, body := webtest.Raw(t, url, "CONNECT a.org:443 HTTP/1.1"); resp.StatusCode != 501 || strings.Contains(body, "hello") {
			t.Errorf("CONNECT: got %d %q, want 501", resp.StatusCode, body)
		}
	})
}

func TestProgramIsFoundByItsPath(t *testing.T) {
	bothWays(t, bin(Config{}), func(t *testing.T, url string, c web.Component, end <-chan webtest.ExchangeEnd) {
		for _, c := range []struct {
			path   string
			status int
			body   string
		}{
			{"/cgi-bin/hello", 200, "hello \n"},
			{"/cgi-bin/hello/", 200, "hello /\n"},
			{"/cgi-bin/hello/a/b%20c", 200, "hello /a/b c\n"},
			{"/cgi-bin/hello/a/../b//c", 200, "hello /b/c\n"},
			{"/cgi-bin//deep/../hello", 200, "hello \n"},
			{"/x/..//cgi-bin/%68ello", 200, "hello \n"},
			{"/cgi-bin/deep/hello", 200, "deep in deep\n"},
			{"/cgi-bin/length", 200, "hello"},
			{"/cgi-bin/status", 404, "<p>none"},
			{"/cgi-bin/location", 302, ""},
			{"/cgi-bin/fails", 200, "hello\n"},
			{"/cgi-bin/children", 200, "hello\n"},

			{"/cgi-bin", 404, "404 Not Found\n"},
			{"/cgi-bin/", 404, "404 Not Found\n"},
			{"/cgi-bin/deep", 404, "404 Not Found\n"},
			{"/cgi-bin/deep/", 404, "404 Not Found\n"},
			{"/cgi-bin/none", 404, "404 Not Found\n"},
			{"/cgi-binary/hello", 404, "404 Not Found\n"},
			{"/hello", 404, "404 Not Found\n"},
			{"/cgi-bin/text.txt", 404, "404 Not Found\n"}, // it is not executable
			{"/cgi-bin/.hidden/hello", 404, "404 Not Found\n"},
			{"/cgi-bin/hello/../..", 404, "404 Not Found\n"},
			{"/cgi-bin/%2e%2e/bin/hello", 404, "404 Not Found\n"},
			{"/cgi-bin/%2e%2e/%2e%2e/cgi.go", 404, "404 Not Found\n"},
			{"/cgi-bin/hello%00", 400, "400 Bad Request: the path has a control character\n"},
			{"/cgi-bin/hello/a%00b", 400, "400 Bad Request: the path has a control character\n"},
			{"/cgi-bin/hello%2fa", 400, "400 Bad Request: the path has an encoded slash (%2F)\n"},
		} {
			resp, body := webtest.Get(t, url+c.path)
			if resp.StatusCode != c.status || body != c.body || resp.Header.Get("X-Before") != "kept" {
				t.Errorf("%s: got %d %q, want %d %q", c.path, resp.StatusCode, body, c.status, c.body)
			}
			<-end
		}
		webtest.Until(t, "nothing runs", func() bool { return c.(*CGI).Running() == 0 })
	})
}

func TestFieldsOfAProgram(t *testing.T) {
	bothWays(t, bin(Config{}), func(t *testing.T, url string, _ web.Component, _ <-chan webtest.ExchangeEnd) {
		resp, _ := webtest.Get(t, url+"/cgi-bin/status")
		h := resp.Header
		if strings.Join(h["X-From"], ",") != "program" || h.Get("Content-Type") != "text/html" || h.Get("Vary") != "Cookie" ||
			strings.Join(h["Set-Cookie"], ",") != "b=2,a=1" || resp.Close || h["Status"] != nil {
			t.Errorf("got %v, want the program's fields", h)
		}
		if resp, _ := webtest.Get(t, url+"/cgi-bin/location"); resp.Header.Get("Location") != "https://example.org/" {
			t.Errorf("got %v, want Location: https://example.org/", resp.Header)
		}
		if resp, _ := webtest.Get(t, url+"/cgi-bin/length"); resp.ContentLength != 5 {
			t.Errorf("got length %d, want 5", resp.ContentLength)
		}
		if resp, body := webtest.Do(t, "HEAD", url+"/cgi-bin/length", nil); resp.ContentLength != 5 || body != "" {
			t.Errorf("HEAD: got length %d %q, want length 5 and no body", resp.ContentLength, body)
		}
	})
}

// Output that violates RFC 3875 is answered by an error, with the reason in the log.
func TestInvalidOutputOfPrograms(t *testing.T) {
	for _, c := range []struct {
		program string
		status  int
		says    string
	}{
		{"no-head", 502, "ended before its header was complete; its standard error ends in \"a word aside\""},
		{"exits", 502, "(it ended with exit status 1); its standard error ends in \"no such luck\""},
		{"endless-head", 502, "header is longer than max_head"},
		{"endless-line", 502, "header is longer than max_head"},
		{"nph", 502, "status line"},
		{"nothing-said", 502, "neither Content-Type"},
		{"bad-field", 502, "malformed"},
		{"bad-name", 502, "invalid field"},
		{"bad-status", 502, "not a status from 200 to 599"},
		{"bad-length", 502, "its Content-Length"},
		{"no-interpreter", 500, "cannot be started"},
	} {
		t.Run(c.program, func(t *testing.T) {
			bothWays(t, bin(Config{}), func(t *testing.T, url string, comp web.Component, end <-chan webtest.ExchangeEnd) {
				resp, body := webtest.Get(t, url+"/cgi-bin/"+c.program)
				if resp.StatusCode != c.status || !strings.HasPrefix(body, fmt.Sprint(c.status)) || resp.Header.Get("X-A") != "" {
					t.Errorf("got %d %q %v, want %d", resp.StatusCode, body, resp.Header, c.status)
				}
				if e := <-end; e.Err == nil || !strings.Contains(e.Err.Error(), c.says) || !strings.Contains(e.Err.Error(), c.program) {
					t.Errorf("got %v, want it to say %q", e.Err, c.says)
				}
				webtest.Until(t, "nothing runs", func() bool { return comp.(*CGI).Running() == 0 })
			})
		})
	}
	for _, c := range []struct{ program, body, says string }{
		{"crashes", "hel", "signal: killed"},
		{"short", "hello\n", "94 bytes shorter"},
	} {
		bothWays(t, bin(Config{}), func(t *testing.T, url string, comp web.Component, end <-chan webtest.ExchangeEnd) {
			if got := broken(t, url+"/cgi-bin/"+c.program); got != "" && got != c.body {
				t.Errorf("%s: got %q, want the program's output or nothing", c.program, got)
			}
			if e := <-end; e.Err == nil || !strings.Contains(e.Err.Error(), c.says) {
				t.Errorf("%s: got %v, want it to say %q", c.program, e.Err, c.says)
			}
		})
	}
}

func TestExitStatusIsReported(t *testing.T) {
	bothWays(t, bin(Config{}), func(t *testing.T, url string, _ web.Component, end <-chan webtest.ExchangeEnd) {
		webtest.Get(t, url+"/cgi-bin/fails")
		if e := <-end; e.Status != 200 || e.Err == nil || !strings.Contains(e.Err.Error(), "exit status 3") {
			t.Errorf("got %+v, want 200 and exit status 3", e)
		}
	})
}

func TestTimeoutKillsTheProgram(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	cfg := Config{Timeout: "300ms", Env: map[string]string{"PIDS": pids}}
	bothWays(t, bin(cfg), func(t *testing.T, url string, c web.Component, end <-chan webtest.ExchangeEnd) {
		resp, _ := webtest.Get(t, url+"/cgi-bin/silent")
		if e := <-end; resp.StatusCode != 504 || e.Err == nil || !strings.Contains(e.Err.Error(), "longer than its timeout") {
			t.Errorf("got %d %+v, want 504 and the timeout", resp.StatusCode, e)
		}
		broken(t, url+"/cgi-bin/endless")
		if e := <-end; e.Err == nil || !strings.Contains(e.Err.Error(), "longer than its timeout") {
			t.Errorf("got %+v, want the timeout", e)
		}
		webtest.Until(t, "nothing runs", func() bool { return c.(*CGI).Running() == 0 })
		if pid := pidIn(pids); pid != 0 {
			webtest.Until(t, "the group is gone", func() bool { return members(pid) == 0 })
		}
	})
}

// When the client disconnects, before or after the header, the program and its children are killed.
func TestDisconnectedClientEndsTheProgram(t *testing.T) {
	for _, program := range []string{"silent", "endless"} {
		pids := filepath.Join(t.TempDir(), "pids")
		bothWays(t, bin(Config{Env: map[string]string{"PIDS": pids}}), func(t *testing.T, url string, c web.Component, end <-chan webtest.ExchangeEnd) {
			_ = os.Remove(pids)
			ctx, goAway := context.WithCancel(t.Context())
			defer goAway()
			r, _ := http.NewRequestWithContext(ctx, "GET", url+"/cgi-bin/"+program, nil)
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				if resp, err := webtest.Client(t).Do(r); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			}()
			webtest.Until(t, "it runs", func() bool { return pidIn(pids) != 0 })
			if c.(*CGI).Running() != 1 {
				t.Errorf("got %d running programs, want 1", c.(*CGI).Running())
			}
			goAway()
			<-gone
			<-end
			webtest.Until(t, "nothing runs", func() bool { return c.(*CGI).Running() == 0 })
			webtest.Until(t, "the group is gone", func() bool { return members(pidIn(pids)) == 0 })
			if lives(pidIn(pids)) {
				t.Error("got a running program, want it killed")
			}
		})
	}
}

// A child that keeps the output open is killed with its group. A child that has left the group is
// not waited for.
func TestChildrenAreKilled(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	bothWays(t, bin(Config{Env: map[string]string{"PIDS": pids}}), func(t *testing.T, url string, c web.Component, end <-chan webtest.ExchangeEnd) {
		if _, body := webtest.Get(t, url+"/cgi-bin/children"); body != "hello\n" {
			t.Errorf("got %q, want \"hello\\n\" without a wait for the children", body)
		}
		<-end
		webtest.Until(t, "the child is gone", func() bool { return !lives(pidIn(pids)) })
	})
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("no setsid here: that a child leaves its group is not tested")
	}
	bothWays(t, func() (web.Component, error) {
		dir := t.TempDir()
		return bin(Config{Env: map[string]string{"PIDS": filepath.Join(dir, "pids"), "GO": filepath.Join(dir, "go")}})()
	}, func(t *testing.T, url string, c web.Component, end <-chan webtest.ExchangeEnd) {
		env := c.(*CGI).Config.Env
		if _, body := webtest.Get(t, url+"/cgi-bin/away"); body != "hello\n" {
			t.Errorf("got %q, want \"hello\\n\" without a wait for the child", body)
		}
		<-end
		pid := pidIn(env["PIDS"])
		if !lives(pid) {
			t.Error("got a killed process outside the group, want it to run")
		}
		if err := os.WriteFile(env["GO"], nil, 0o644); err != nil {
			t.Fatal(err)
		}
		webtest.Until(t, "it ends by itself", func() bool { return !lives(pid) })
	})
}

// Output that a program has left in its pipe is sent, however late it is read.
func TestOutputLeftInThePipeIsSent(t *testing.T) {
	for _, keep := range []string{"", "setsid sleep 1000 & echo $! > \"$PIDS\"; "} {
		pids := filepath.Join(t.TempDir(), "pids")
		cmd := exec.Command("sh", "-c", keep+"head -c 60000 /dev/zero")
		cmd.Env = []string{"PATH=" + defaultPath, "PIDS=" + pids}
		p, err := start(t.Context(), webtest.WaitTimeout, cmd)
		if err != nil {
			t.Fatal(err)
		}
		<-p.exited
		if all, err := io.ReadAll(p); len(all) != 60_000 || err != nil {
			t.Errorf("got %d bytes, %v, want all 60,000", len(all), err)
		}
		if err := p.Close(); err != nil {
			t.Errorf("Close: got %v, want nil", err)
		}
		if pid := pidIn(pids); pid != 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func TestOutputIsFlushedAtOnce(t *testing.T) {
	bothWays(t, func() (web.Component, error) {
		return bin(Config{Env: map[string]string{"GO": filepath.Join(t.TempDir(), "go")}})()
	}, func(t *testing.T, url string, c web.Component, _ <-chan webtest.ExchangeEnd) {
		resp, err := webtest.Client(t).Get(url + "/cgi-bin/hold")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		lines := bufio.NewReader(resp.Body)
		if line, err := lines.ReadString('\n'); line != "one\n" || err != nil {
			t.Fatalf("got %q, %v, want \"one\\n\" before the program continues", line, err)
		}
		if err := os.WriteFile(c.(*CGI).Config.Env["GO"], nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if rest, err := io.ReadAll(lines); string(rest) != "two\n" || err != nil {
			t.Errorf("got %q, %v, want \"two\\n\"", rest, err)
		}
	})
}

func TestProgramReadsTheWholeRequestBody(t *testing.T) {
	large := strings.Repeat("0123456789", 100_000)
	bothWays(t, bin(Config{MaxInput: "1MB"}), func(t *testing.T, url string, _ web.Component, _ <-chan webtest.ExchangeEnd) {
		for _, body := range []string{"", "a", large} {
			if _, got := webtest.Do(t, "POST", url+"/cgi-bin/echo", strings.NewReader(body)); got != body {
				t.Errorf("%d bytes: got %d bytes back, want all", len(body), len(got))
			}
			if _, got := webtest.Do(t, "POST", url+"/cgi-bin/echo", io.MultiReader(strings.NewReader(body))); got != body {
				t.Errorf("%d bytes of unknown length: got %d bytes back, want all", len(body), len(got))
			}
		}
		if _, got := webtest.Do(t, "POST", url+"/cgi-bin/env", io.MultiReader(strings.NewReader("abc"))); !strings.Contains(got, "\nCONTENT_LENGTH=3\n") {
			t.Errorf("got %q, want CONTENT_LENGTH=3", got)
		}
		for _, body := range []io.Reader{strings.NewReader(large + large), io.MultiReader(strings.NewReader(large + large))} {
			if resp, _ := webtest.Do(t, "POST", url+"/cgi-bin/echo", body); resp.StatusCode != 413 {
				t.Errorf("a body beyond max_input: got %d, want 413", resp.StatusCode)
			}
		}
	})
}

func TestRequestBeyondMaxRunningGets503(t *testing.T) {
	bothWays(t, func() (web.Component, error) {
		return bin(Config{MaxRunning: 1, Env: map[string]string{"GO": filepath.Join(t.TempDir(), "go")}})()
	}, func(t *testing.T, url string, c web.Component, end <-chan webtest.ExchangeEnd) {
		// it has sent its header, and no body yet
		resp, err := webtest.Client(t).Get(url + "/cgi-bin/hold")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp, _ := webtest.Get(t, url+"/cgi-bin/hello"); resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
			t.Errorf("got %d, want 503", resp.StatusCode)
		}
		if err := os.WriteFile(c.(*CGI).Config.Env["GO"], nil, 0o644); err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		webtest.Until(t, "it has ended", func() bool { return c.(*CGI).Running() == 0 })
		if resp, _ := webtest.Get(t, url+"/cgi-bin/hello"); resp.StatusCode != 200 {
			t.Errorf("got %d, want 200", resp.StatusCode)
		}
	})
}

// environment returns the output of the program env.
func environment(body string) map[string]string {
	vars := map[string]string{}
	for line := range strings.SplitSeq(body, "\n") {
		if name, value, ok := strings.Cut(line, "="); ok {
			vars[name] = value
		}
	}
	return vars
}

func TestProgramGetsTheVariablesOfRFC3875(t *testing.T) {
	t.Setenv("SECRET", "of the server")
	bothWays(t, bin(Config{Env: map[string]string{"MINE": "yes"}}), func(t *testing.T, url string, _ web.Component, _ <-chan webtest.ExchangeEnd) {
		_, body := webtest.Do(t, "POST", url+"/cgi-bin/env/x%20y?a=b&c", strings.NewReader("abc"), "Content-Type", "text/x", "X-A", "1", "X-A", "2", "Cookie", "a=1", "Cookie", "b=2",
			"Authorization", "Basic eDp5", "Proxy", "http://evil/", "X_B", "underscore", "X.C", "dot", "X-User", "ann", "Connection", "close")
		got := environment(body)
		root, err := filepath.Abs("testdata/bin")
		if err != nil {
			t.Fatal(err)
		}
		host := strings.TrimPrefix(url, "http://")
		_, port, _ := strings.Cut(host, ":")
		for name, want := range map[string]string{
			"GATEWAY_INTERFACE": "CGI/1.1", "SERVER_PROTOCOL": "HTTP/1.1", "SERVER_SOFTWARE": "weir", "SERVER_NAME": "127.0.0.1", "SERVER_PORT": port, "REQUEST_METHOD": "POST",
			"REQUEST_URI": "/cgi-bin/env/x%20y?a=b&c", "SCRIPT_NAME": "/cgi-bin/env", "PATH_INFO": "/x y", "PATH_TRANSLATED": root + "/x y", "QUERY_STRING": "a=b&c",
			"SCRIPT_FILENAME": root + "/env", "DOCUMENT_ROOT": root, "REMOTE_ADDR": "127.0.0.1", "REMOTE_USER": "ann", "AUTH_TYPE": "Basic", "CONTENT_LENGTH": "3", "CONTENT_TYPE": "text/x",
			"HTTP_HOST": host, "HTTP_X_A": "1, 2", "HTTP_COOKIE": "a=1; b=2", "MINE": "yes", "PATH": defaultPath,
			"SECRET": "", "HTTP_AUTHORIZATION": "", "HTTP_PROXY": "", "HTTP_X_B": "", "HTTP_X_C": "", "HTTP_CONNECTION": "", "HTTP_CONTENT_TYPE": "", "HTTPS": "",
		} {
			if got[name] != want {
				t.Errorf("%s is %q, want %q", name, got[name], want)
			}
		}
	})
}

// net/http/cgi reads the same request from the environment.
func TestEnvironmentAsAnotherProgramPrintsIt(t *testing.T) {
	bothWays(t, bin(Config{}), func(t *testing.T, url string, _ web.Component, _ <-chan webtest.ExchangeEnd) {
		_, body := webtest.Do(t, "PUT", url+"/cgi-bin/env/deep/er?q=1", strings.NewReader("abc"), "X-A", "1")
		r, err := cgi.RequestFromMap(environment(body))
		if err != nil {
			t.Fatal(err)
		}
		if r.Method != "PUT" || r.URL.String() != url+"/cgi-bin/env/deep/er?q=1" || r.Header.Get("X-A") != "1" || r.ContentLength != 3 || !strings.HasPrefix(r.RemoteAddr, "127.0.0.1:") {
			t.Errorf("got %s %s %v %d %s, want the request as sent", r.Method, r.URL, r.Header, r.ContentLength, r.RemoteAddr)
		}
	})
}

func TestOneProgramServesEveryPathBelowItsPrefix(t *testing.T) {
	var said bytes.Buffer
	component := func() (web.Component, error) {
		return New(Config{Program: "sh", Args: []string{"-c", `printf 'Content-Type: text/plain\n\n%s %s %s' "$SCRIPT_NAME" "$PATH_INFO" "$1"; echo aside >&2`, "sh", "arg"}, Prefix: "/run", Stderr: &said})
	}
	bothWays(t, component, func(t *testing.T, url string, _ web.Component, _ <-chan webtest.ExchangeEnd) {
		if _, body := webtest.Get(t, url+"/run/any/where"); body != "/run /any/where arg" {
			t.Errorf("got %q, want SCRIPT_NAME /run, PATH_INFO /any/where and the argument", body)
		}
		if resp, _ := webtest.Get(t, url+"/other"); resp.StatusCode != 404 {
			t.Errorf("got %d, want 404", resp.StatusCode)
		}
	})
	if said.String() != "aside\naside\n" {
		t.Errorf("got standard error %q, want both lines", said.String())
	}
}

func TestInvalidConfigsAreRejected(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		says string
	}{
		{Config{}, "set either dir"},
		{Config{Dir: "testdata/bin", Program: "sh"}, "set either dir"},
		{Config{Dir: "testdata/none"}, "dir"},
		{Config{Program: "no-such-program"}, "program"},
		{Config{Dir: "testdata/bin", Args: []string{"a"}}, "args"},
		{Config{Dir: "testdata/bin", Prefix: "cgi-bin"}, "prefix"},
		{Config{Dir: "testdata/bin", Timeout: "0s"}, "timeout"},
		{Config{Dir: "testdata/bin", Timeout: "long"}, "timeout"},
		{Config{Dir: "testdata/bin", IdleTimeout: "-1s"}, "idle_timeout"},
		{Config{Dir: "testdata/bin", MaxHead: "1"}, "max_head"},
		{Config{Dir: "testdata/bin", MaxInput: "x"}, "max_input"},
		{Config{Dir: "testdata/bin", Width: -1}, "width"},
		{Config{Dir: "testdata/bin", Env: map[string]string{"A=B": "c"}}, "env"},
	} {
		if g, err := New(c.cfg); err == nil || g != nil || !strings.HasPrefix(err.Error(), "cgi: ") || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want an error about %q", c.cfg, err, c.says)
		}
	}
}
