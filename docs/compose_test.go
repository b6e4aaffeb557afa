package docs

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTheSiteTutorial writes the files that the tutorial shows, sees that its drawings and outputs
// are those that come, and asks the last site what the tutorial asks it, run both ways.
func TestTheSiteTutorial(t *testing.T) {
	dir := t.TempDir()
	users := exec.Command(theCommand(t), "serve", "password", "--cost", "4", "ann")
	users.Stdin = strings.NewReader("sesame\n")
	line, err := users.Output()
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "users", string(line))
	last, answers := "", ""
	for _, b := range blocks(t, "compose-a-site.md") {
		switch {
		case b.kind == "mermaid":
			if drawn := says(t, dir, "draw", "--format", "mermaid", last); drawn != b.text {
				t.Errorf("%s is drawn as\n%s\nnot as\n%s", last, drawn, b.text)
			}
		case b.file == "output":
			if said := says(t, dir, "check", last); said != b.text {
				t.Errorf("of %s it says\n%s\nnot\n%s", last, said, b.text)
			}
		case b.file == "answers":
			answers = b.text
		case b.file != "":
			put(t, dir, b.file, b.text)
			last = b.file
		}
	}
	for _, way := range []string{"chain", "network"} {
		if got := asks(t, dir, last, way); got != answers {
			t.Errorf("%s by %s answers\n%s\nnot\n%s", last, way, got, answers)
		}
	}
}

// TestThePictureOfTheREADMEsSite sees that the picture is the drawing of the site file above it.
// WEIR_DRAW=write makes it anew.
func TestThePictureOfTheREADMEsSite(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "users", "ann:$2a$04$bP3iqHyeHPhkwEjMT4w7CO5IuVJhZcCmGUE7mjLMhPG/lmGVdl4bm\n")
	put(t, dir, "www/index.html", "")
	put(t, dir, "private/index.html", "")
	for _, b := range blocks(t, "../README.md") {
		if b.kind == "hcl" {
			put(t, dir, "site.hcl", b.text)
		}
	}
	drawn := says(t, dir, "draw", "site.hcl")
	if os.Getenv("WEIR_DRAW") == "write" {
		put(t, "img", "site.svg", drawn)
	}
	if picture, err := os.ReadFile("img/site.svg"); err != nil || string(picture) != drawn {
		t.Errorf("img/site.svg is not what weir serve draw prints: %v", err)
	}
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// says is all that weir serve prints when it is asked something.
func says(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command(theCommand(t), append([]string{"serve"}, args...)...)
	cmd.Dir = dir
	// a drawing says how many are at work at once, which goes by the CPUs
	cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
	out, _ := cmd.CombinedOutput() // a wrong file is an error on purpose
	return string(out)
}

// asks serves the site and gives the answers to the tutorial's three questions.
func asks(t *testing.T, dir, site, way string) string {
	t.Helper()
	cmd := exec.Command(theCommand(t), "serve", site, "--run", way, "--listen", "127.0.0.1:0")
	cmd.Dir = dir
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_, _ = io.Copy(io.Discard, stderr)
		_ = cmd.Wait()
	}()
	first := make([]byte, 200)
	n, _ := stderr.Read(first)
	_, url, _ := strings.Cut(strings.TrimSpace(string(first[:n])), "serving on ")
	client := http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	all := ""
	for _, ask := range []struct{ path, user string }{{"", ""}, {"private/plans.txt", ""}, {"private/plans.txt", "ann"}} {
		r, err := http.NewRequest("GET", url+ask.path, nil)
		if err != nil {
			t.Fatalf("%v: it said %q", err, first[:n])
		}
		if ask.user != "" {
			r.SetBasicAuth(ask.user, "sesame")
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		all += string(body)
	}
	return all
}
