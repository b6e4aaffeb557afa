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

// The test writes the files of the tutorial and compares its drawings and outputs with the
// command's. It sends the tutorial's requests to the last site, run as a chain and as a network.
func TestTheSiteTutorialWorks(t *testing.T) {
	dir := t.TempDir()
	users := exec.Command(weirBinary(t), "serve", "password", "--cost", "4", "ann")
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
			if drawing := weirServe(t, dir, "draw", "--format", "mermaid", last); drawing != b.text {
				t.Errorf("got the drawing of %s\n%s\nwant, as the tutorial shows,\n%s", last, drawing, b.text)
			}
		case b.file == "output":
			if output := weirServe(t, dir, "check", last); output != b.text {
				t.Errorf("got the check of %s\n%s\nwant, as the tutorial shows,\n%s", last, output, b.text)
			}
		case b.file == "answers":
			answers = b.text
		case b.file != "":
			put(t, dir, b.file, b.text)
			last = b.file
		}
	}
	for _, way := range []string{"chain", "network"} {
		if got := siteAnswers(t, dir, last, way); got != answers {
			t.Errorf("got the answers of %s as a %s\n%s\nwant\n%s", last, way, got, answers)
		}
	}
}

// The tutorial stops a server in the background before it starts another, which serves on the same
// port.
func TestTheSiteTutorialStopsItsServer(t *testing.T) {
	running := ""
	for _, b := range blocks(t, "compose-a-site.md") {
		if b.kind != "sh" {
			continue
		}
		for line := range strings.Lines(b.text) {
			words := strings.Fields(line)
			switch {
			case strings.HasPrefix(line, "kill %1"):
				running = ""
			case len(words) < 3 || words[0] != "weir" || words[1] != "serve" || words[2] != "www" && words[2] != "site.hcl":
			case running != "":
				t.Errorf("got the line %q while %q runs in the background, want a line kill %%1 before it", line, running)
			case strings.HasSuffix(strings.TrimSpace(line), "&"):
				running = line
			}
		}
	}
}

// The picture equals the drawing of the README's site file. WEIR_DRAW=write updates the picture.
func TestThePictureOfTheREADMEsSiteIsUpToDate(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "users", "ann:$2a$04$bP3iqHyeHPhkwEjMT4w7CO5IuVJhZcCmGUE7mjLMhPG/lmGVdl4bm\n")
	put(t, dir, "www/index.html", "")
	put(t, dir, "private/index.html", "")
	for _, b := range blocks(t, "../README.md") {
		if b.kind == "hcl" {
			put(t, dir, "site.hcl", b.text)
		}
	}
	drawn := weirServe(t, dir, "draw", "site.hcl")
	if os.Getenv("WEIR_DRAW") == "write" {
		put(t, "img", "site.svg", drawn)
	}
	if picture, err := os.ReadFile("img/site.svg"); err != nil || string(picture) != drawn {
		t.Errorf("img/site.svg: got error %v or another picture, want the output of weir serve draw: run WEIR_DRAW=write go test ./docs", err)
	}
}

// put writes a file below dir.
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

// weirServe runs weir serve with arguments and returns its output.
func weirServe(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command(weirBinary(t), append([]string{"serve"}, args...)...)
	cmd.Dir = dir
	// a drawing shows the width of stages, which depends on the number of CPUs
	cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
	out, _ := cmd.CombinedOutput() // the tutorial has an invalid file on purpose
	return string(out)
}

// siteAnswers serves the site and returns the answers to the tutorial's three requests.
func siteAnswers(t *testing.T, dir, site, way string) string {
	t.Helper()
	cmd := exec.Command(weirBinary(t), "serve", site, "--run", way, "--listen", "127.0.0.1:0")
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
			t.Fatalf("got %v, want a URL in the first output of the server: %q", err, first[:n])
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
