package docs

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/internal/chromium"
)

// TestAChatInAMinute types what the tutorial says to type, and says something in a browser.
// WEIR_SHOTS=img makes its pictures anew.
func TestAChatInAMinute(t *testing.T) {
	dir := t.TempDir()
	var said string // by the server, as it starts
	talked := false
	for _, b := range blocks(t, "chat-in-a-minute.md") {
		line := strings.TrimSpace(b.text)
		switch {
		case b.kind == "text":
			if want, said := ports.ReplaceAllString(b.text, ":N"), strings.ReplaceAll(said, dir, "/Users/ann"); want != said {
				t.Errorf("it says\n%s\nnot\n%s", said, want)
			}
		case strings.Contains(line, "chat serve") && said == "":
			var url string
			url, said = serves(t, dir, line)
			t.Run("the first message", func(t *testing.T) { talked = firstMessage(t, url) })
		case strings.Contains(line, "chat serve"):
			manages(t, dir, line+" --check")
		case !strings.Contains(line, " connect "): // which wants a terminal
			for l := range strings.Lines(b.text) {
				manages(t, dir, strings.TrimSpace(l))
			}
		}
	}
	if found := manages(t, dir, "./weir chat search minute --data mychat"); talked && !strings.Contains(found, "in a minute") {
		t.Errorf("what was said in the browser is not found: %s", found)
	}
}

var ports = regexp.MustCompile(`:\d+`)

// words are a command line of the tutorial, for the command that was built.
func words(t *testing.T, line string) []string {
	line, _, _ = strings.Cut(line, " > ")
	line, ok := strings.CutPrefix(strings.ReplaceAll(line, "'", ""), "./weir ")
	if !ok {
		t.Fatalf("the tutorial says %q, which is none of weir's commands", line)
	}
	return strings.Fields(line)
}

// serves starts the server as a line says, at ports that are free, and gives its page's address
// once it serves, and what it said to people.
func serves(t *testing.T, dir, line string) (url, said string) {
	t.Helper()
	args := words(t, ports.ReplaceAllString(line, ":0"))
	cmd := exec.Command(theCommand(t), append(args, "--listen", "127.0.0.1:0")...)
	cmd.Dir = dir
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // it may have ended: Wait tells
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	})
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		_, entry, _ := strings.Cut(lines.Text(), " ") // behind the time
		said += ports.ReplaceAllString(entry, ":N") + "\n"
		if _, url, ok := strings.Cut(entry, " url="); ok {
			go io.Copy(io.Discard, stderr) //nolint:errcheck // until the server ends
			return url, said
		}
	}
	t.Fatalf("%s: it ended without a page", line)
	return "", ""
}

// manages runs another command of the tutorial, with a password for whoever asks for one, and
// returns what it printed.
func manages(t *testing.T, dir, line string) string {
	t.Helper()
	cmd := exec.Command(theCommand(t), words(t, line)...)
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader("correct horse battery staple\n")
	var wrong bytes.Buffer
	cmd.Stderr = &wrong
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%s: %v: %s", line, err, wrong.String())
	}
	return string(out)
}

// firstMessage comes in as a guest, and talks. It says whether it did: there may be no browser.
func firstMessage(t *testing.T, url string) bool {
	began := time.Now()
	ann, bob := chromium.Open(t), chromium.Open(t)
	for name, p := range map[string]*chromium.Page{"ann": ann, "bob": bob} {
		p.Size(1000, 640, false)
		p.Go(url)
		p.Until(`document.activeElement.id == "name"`)
		if name == "ann" {
			picture(t, p, "chat-door.png")
		}
		p.Write(name)
		p.Press("Enter")
		p.Until(`document.querySelector("#title").textContent == "#lobby"`)
	}
	for _, say := range []struct {
		who  *chromium.Page
		text string
	}{{ann, "Our own chat, in a minute!"}, {bob, "And it remembers."}} {
		say.who.Until(`(document.querySelector("#say").focus(), document.activeElement.id == "say")`)
		say.who.Write(say.text)
		say.who.Press("Enter")
		for _, p := range []*chromium.Page{ann, bob} {
			p.Until(fmt.Sprintf(`[...document.querySelectorAll("#log .message:not(.waiting) .text")].some((e) => e.textContent == %q)`, say.text))
		}
	}
	t.Logf("the first message was there within %v", time.Since(began).Round(10*time.Millisecond))
	picture(t, ann, "chat-room.png")
	return !t.Failed()
}

// picture keeps what a page looks like, when pictures are made.
func picture(t *testing.T, p *chromium.Page, name string) {
	if dir := os.Getenv("WEIR_SHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name), p.Shot(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTheDeploymentIsRight has the server check the tutorial's configuration, and systemd its units
// where there is one.
func TestTheDeploymentIsRight(t *testing.T) {
	dir := t.TempDir()
	var units []string
	for _, b := range blocks(t, "chat-for-real.md") {
		if b.file == "" {
			continue
		}
		file := filepath.Join(dir, filepath.Base(b.file))
		if b.kind == "ini" {
			units = append(units, file)
			b.text = strings.ReplaceAll(b.text, "/usr/local/bin/weir", theCommand(t))
			for l := range strings.Lines(b.text) {
				if _, command, ok := strings.Cut(l, "="+theCommand(t)+" "); ok {
					starts(t, strings.Fields(command))
				}
			}
		}
		put(t, dir, filepath.Base(b.file), b.text)
		if b.kind == "toml" {
			if out, err := exec.Command(theCommand(t), "chat", "serve", "--config", file, "--check").CombinedOutput(); err != nil {
				t.Errorf("%s: %s", b.file, out)
			}
		}
	}
	if len(units) != 3 {
		t.Errorf("the tutorial has %d units, want 3", len(units))
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is missing: nobody checks the units")
	}
	if out, err := exec.Command("systemd-analyze", append([]string{"verify", "--man=no"}, units...)...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("the units are wrong: %v\n%s", err, out)
	}
}

// starts sees that a command of a unit knows its flags.
func starts(t *testing.T, command []string) {
	t.Helper()
	help, err := exec.Command(theCommand(t), append(command[:2:2], "--help")...).CombinedOutput()
	if err != nil {
		t.Errorf("weir %v: %s", command, help)
	}
	for _, w := range command[2:] {
		if strings.HasPrefix(w, "--") && !strings.Contains(string(help), " "+w+"=") {
			t.Errorf("weir %v: there is no flag %s", command, w)
		}
	}
}
