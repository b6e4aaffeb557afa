package main

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// served is a running process of weir serve, or the address of its admin page.
type served struct {
	*exec.Cmd
	lines *bufio.Reader // of standard error
	url   string        // ends with a slash
}

func serveCommand(t *testing.T, args ...string) *served {
	t.Helper()
	s := &served{Cmd: exec.Command(binary(t), append([]string{"serve"}, args...)...)}
	s.url = s.start(t, "serving on")
	return s
}

// start starts the command and returns the address that follows words in the first line of its log
// that has them.
func (s *served) start(t *testing.T, words string) string {
	t.Helper()
	pipe, err := s.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.lines = bufio.NewReader(pipe)
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.ProcessState == nil {
			_ = s.Process.Kill()
			_ = s.Wait()
		}
	})
	return s.address(t, words)
}

// address returns the address that follows words in the next line of the log that has them.
func (s *served) address(t *testing.T, words string) string {
	t.Helper()
	_, url, _ := strings.Cut(s.says(t, words), words+" ")
	return strings.TrimSpace(url)
}

// says reads the log up to a line that has these words, and returns the line.
func (s *served) says(t *testing.T, words string) string {
	t.Helper()
	var all strings.Builder
	// ends the wait for a line that does not come
	defer time.AfterFunc(time.Minute, func() { _ = s.Process.Kill() }).Stop()
	for {
		line, err := s.lines.ReadString('\n')
		all.WriteString(line)
		if strings.Contains(line, words) {
			return line
		}
		if err != nil {
			t.Fatalf("log within a minute: want a line with %q, got %q and %v", words, all.String(), err)
		}
	}
}

func (s *served) get(t *testing.T, path string) (int, string) {
	t.Helper()
	r, err := http.NewRequest("GET", s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return do(t, r)
}

func do(t *testing.T, r *http.Request) (int, string) {
	t.Helper()
	client := http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func (s *served) stop(t *testing.T) {
	t.Helper()
	_ = s.Process.Signal(syscall.SIGTERM)
	_, _ = io.Copy(io.Discard, s.lines)
	if err := s.Wait(); err != nil {
		t.Errorf("after SIGTERM: got %v, want exit status 0", err)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestServeListsAFolderAndItsFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.txt"), "in the folder")
	// the models of a site: chain calls its components, network runs each in a goroutine of its own
	for _, way := range []string{"chain", "network"} {
		s := serveCommand(t, dir, "--listen", "127.0.0.1:0", "--run", way)
		if code, body := s.get(t, "a.txt"); code != 200 || body != "in the folder" {
			t.Errorf("--run %s: GET /a.txt: got %d %q, want 200 and the file", way, code, body)
		}
		if code, body := s.get(t, ""); code != 200 || !strings.Contains(body, "a.txt") {
			t.Errorf("--run %s: GET /: got %d %q, want 200 and a listing with a.txt", way, code, body)
		}
		s.stop(t)
	}
}

// A SIGHUP reloads the site file at once. Without a signal the server notices a change of the file
// by itself, within a second or so.
func TestServeReloadsAChangedSiteFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "site.hcl")
	write(t, filepath.Join(dir, "a.txt"), "beside the site file")
	write(t, file, "server { listen = \"127.0.0.1:0\" }\nfiles { dir = \".\" }")
	s := serveCommand(t, file)
	if code, body := s.get(t, "a.txt"); code != 200 || body != "beside the site file" {
		t.Errorf("GET /a.txt: got %d %q, want 200 and the file beside the site file", code, body)
	}
	write(t, file, "server { listen = \"127.0.0.1:0\" }\ntext { text = \"changed\" }")
	_ = s.Process.Signal(syscall.SIGHUP)
	s.says(t, "reloaded site.hcl")
	if _, body := s.get(t, ""); body != "changed" {
		t.Errorf("GET / after SIGHUP: got %q, want %q of the changed site file", body, "changed")
	}
	write(t, file, "txt {}") // no signal
	s.says(t, "on site.hcl line 1")
	s.says(t, "the running configuration stays in effect")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	_ = s.Process.Signal(syscall.SIGHUP)
	s.says(t, "open site.hcl: no such file or directory; the running configuration stays in effect")
	if _, body := s.get(t, ""); body != "changed" {
		t.Errorf("GET / after an invalid site file and after its removal: got %q, want %q of the running configuration", body, "changed")
	}
	s.stop(t)
}

func TestServePasswordPrintsABcryptHash(t *testing.T) {
	cmd := exec.Command(binary(t), "serve", "password", "--cost", "4", "ann")
	cmd.Stdin = strings.NewReader("sesame\n")
	line, err := cmd.Output()
	name, hash, _ := strings.Cut(strings.TrimSpace(string(line)), ":")
	if err != nil || name != "ann" || bcrypt.CompareHashAndPassword([]byte(hash), []byte("sesame")) != nil {
		t.Errorf("serve password ann: got %q, error %v, want ann: and the password's bcrypt hash", line, err)
	}
	if out, err := exec.Command(binary(t), "serve", "password", "a:b").CombinedOutput(); err == nil {
		t.Errorf("serve password a:b: got %q, want an error: a colon ends a name in the password file", out)
	}
	if out, err := exec.Command(binary(t), "serve", "password", "ann").CombinedOutput(); err == nil || !strings.Contains(string(out), "standard input is empty") {
		t.Errorf("serve password with empty standard input: got error %v and %q, want an error that says so", err, out)
	}
}

func TestTheAdminPageIsServedOnItsOwnAddress(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "site.hcl")
	write(t, file, "server { admin = \"127.0.0.1:0\" }\nmetrics {}\ntext { text = \"hello\" }")
	site := &served{Cmd: exec.Command(binary(t), "serve", file, "--listen", "127.0.0.1:0")}
	page := site.start(t, "admin page on")
	site.url = site.address(t, "serving on")
	if _, body := site.get(t, ""); body != "hello" {
		t.Errorf("GET / of the site: got %q, want %q", body, "hello")
	}
	admin := &served{url: page}
	for path, want := range map[string]string{"": "<html", "api/topology": `"to":"response"`, "metrics": `weir_http_requests_total{class="2xx"`, "debug/pprof/": "goroutine"} {
		if code, body := admin.get(t, path); code != 200 || !strings.Contains(body, want) {
			t.Errorf("GET /%s of the admin page: got %d and %.200q, want 200 and a body with %s", path, code, body, want)
		}
	}
	if code, _ := site.get(t, "debug/pprof/"); code == 200 {
		if _, body := site.get(t, "debug/pprof/"); body != "hello" {
			t.Errorf("GET /debug/pprof/ of the site: got %.200q, want no profiles: they are on the admin page only", body)
		}
	}
	site.stop(t)
}

func TestServeCheckReportsFaultsAndDrawWritesEachFormat(t *testing.T) {
	dir := t.TempDir()
	right, wrong := filepath.Join(dir, "right.hcl"), filepath.Join(dir, "wrong.hcl")
	write(t, right, "route \"/\" {\n text { text = \"x\" }\n}\nsecurity {}")
	noTLS := filepath.Join(dir, "tls.hcl")
	write(t, noTLS, "server {\n tls {\n cert = \"none.pem\"\n key = \"none.key\"\n }\n}\ntext { text = \"x\" }")
	logs, noLogs := filepath.Join(dir, "logs.hcl"), filepath.Join(dir, "nologs.hcl")
	write(t, logs, "log { file = \"access.log\" }\ntext { text = \"x\" }")
	write(t, noLogs, "log { file = \"none/access.log\" }\ntext { text = \"x\" }")
	write(t, wrong, "security {}\ntext { text = \"x\" }\nstatus { code = 404 }")
	for _, c := range []struct {
		args   string
		code   int    // exit status
		stdout string // a part of standard output
		stderr string // a part of standard error
	}{
		{"check " + right, 0, "is valid", ""},
		{"check " + wrong, 1, "", "source status comes after the source text"},
		{"check " + noTLS, 1, "", "cannot use the certificate none.pem with the key none.key"},
		{"check " + logs, 0, "is valid", ""},
		{"check " + noLogs, 1, "", "its folder does not exist"},
		{"draw " + logs, 0, "<svg ", ""},
		{"check " + dir, 1, "", "not a regular file: name a site file"},
		{"draw " + right, 0, "<svg ", ""},
		{"draw --format dot " + right, 0, `"routes" -> "text"`, ""},
		{"draw --format mermaid " + right, 0, "flowchart LR", ""},
		{"draw --format json " + right, 0, `"to": "response"`, ""},
		{"draw " + wrong, 1, "", "wrong.hcl line 3"},
		{"draw --format png " + right, 2, "", "must be one of"},
		{"components", 0, "files ", ""},
		{"no-such-file", 2, "", "there is no folder or site file no-such-file"},
		{right + " --log x", 2, "", "--log is for folders"},
		{right + " --listen here", 2, "", `cannot listen on "here"`},
		{right + " --run fast", 2, "", `must be one of "chain","network"`},
	} {
		cmd := exec.Command(binary(t), append([]string{"serve"}, strings.Fields(c.args)...)...)
		var out, bad strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &bad
		err := cmd.Run()
		code := 0
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			code = exit.ExitCode()
		}
		if code != c.code || !strings.Contains(out.String(), c.stdout) || !strings.Contains(bad.String(), c.stderr) {
			t.Errorf("weir serve %s: got exit status %d, standard output %q, standard error %q; want status %d, output with %q and error with %q",
				c.args, code, out.String(), bad.String(), c.code, c.stdout, c.stderr)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "access.log")); err == nil {
		t.Error("access log after serve check: got a file, want none: checking writes nothing")
	}
}
