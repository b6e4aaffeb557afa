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

// TestTheChatTutorialWorks runs the commands of the tutorial and sends messages in a browser.
// WEIR_SHOTS=img updates its pictures.
func TestTheChatTutorialWorks(t *testing.T) {
	dir := t.TempDir()
	var log string // of the server, as it starts
	messagesSent := false
	for _, b := range blocks(t, "chat-in-a-minute.md") {
		line := strings.TrimSpace(b.text)
		switch {
		case b.kind == "text":
			if want, got := ports.ReplaceAllString(b.text, ":N"), strings.ReplaceAll(log, dir, "/Users/ann"); want != got {
				t.Errorf("got the log\n%s\nwant, as the tutorial shows,\n%s", got, want)
			}
		case strings.Contains(line, "chat serve") && log == "":
			var url string
			url, log = startChat(t, dir, line)
			t.Run("the first message", func(t *testing.T) { messagesSent = sendFirstMessages(t, url) })
		case strings.Contains(line, "chat serve"):
			runChatCommand(t, dir, line+" --check")
		case !strings.Contains(line, " connect "): // it needs a terminal
			for l := range strings.Lines(b.text) {
				runChatCommand(t, dir, strings.TrimSpace(l))
			}
		}
	}
	if found := runChatCommand(t, dir, "./weir chat search minute --data mychat"); messagesSent && !strings.Contains(found, "in a minute") {
		t.Errorf("got the search result %q, want the message sent in the browser", found)
	}
}

var ports = regexp.MustCompile(`:\d+`)

// words returns the arguments of a command line of the tutorial.
func words(t *testing.T, line string) []string {
	line, _, _ = strings.Cut(line, " > ")
	line, ok := strings.CutPrefix(strings.ReplaceAll(line, "'", ""), "./weir ")
	if !ok {
		t.Fatalf("the tutorial has the line %q, want a command of weir", line)
	}
	return strings.Fields(line)
}

// startChat runs a line that starts the server, at free ports. It returns the URL of the page and
// the server's log, without times and ports.
func startChat(t *testing.T, dir, line string) (url, log string) {
	t.Helper()
	args := words(t, ports.ReplaceAllString(line, ":0"))
	cmd := exec.Command(weirBinary(t), append(args, "--listen", "127.0.0.1:0")...)
	cmd.Dir = dir
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // if it has ended, Wait reports that
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: after SIGTERM: got %v, want exit status 0", line, err)
		}
	})
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		_, entry, _ := strings.Cut(lines.Text(), " ") // without the time
		log += ports.ReplaceAllString(entry, ":N") + "\n"
		if _, url, ok := strings.Cut(entry, " url="); ok {
			go io.Copy(io.Discard, stderr) //nolint:errcheck // until the server ends
			return url, log
		}
	}
	t.Fatalf("%s: got the log's end, want the URL of its page in:\n%s", line, log)
	return "", ""
}

// runChatCommand runs another command of the tutorial, with a password on its standard input, and
// returns its output.
func runChatCommand(t *testing.T, dir, line string) string {
	t.Helper()
	cmd := exec.Command(weirBinary(t), words(t, line)...)
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader("correct horse battery staple\n")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%s: got %v, want exit status 0: %s", line, err, stderr.String())
	}
	return string(out)
}

// sendFirstMessages opens the page as two guests who send messages. It reports whether they did: it
// skips the test if there is no browser.
func sendFirstMessages(t *testing.T, url string) bool {
	began := time.Now()
	ann, bob := chromium.Open(t), chromium.Open(t)
	for name, p := range map[string]*chromium.Page{"ann": ann, "bob": bob} {
		p.Size(1000, 640, false)
		p.Go(url)
		p.Until(`document.activeElement.id == "name"`)
		if name == "ann" {
			saveScreenshot(t, p, "chat-door.png")
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
	t.Logf("both messages were displayed within %v", time.Since(began).Round(10*time.Millisecond))
	saveScreenshot(t, ann, "chat-room.png")
	return !t.Failed()
}

// saveScreenshot stores a screenshot of a page if WEIR_SHOTS is set.
func saveScreenshot(t *testing.T, p *chromium.Page, name string) {
	if dir := os.Getenv("WEIR_SHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name), p.Shot(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The server accepts the tutorial's configuration. systemd, if it is installed, accepts its units.
func TestTheChatDeploymentsFilesAreAccepted(t *testing.T) {
	dir := t.TempDir()
	var units []string
	for _, b := range blocks(t, "chat-for-real.md") {
		if b.file == "" {
			continue
		}
		file := filepath.Join(dir, filepath.Base(b.file))
		if b.kind == "ini" {
			units = append(units, file)
			b.text = strings.ReplaceAll(b.text, "/usr/local/bin/weir", weirBinary(t))
			for l := range strings.Lines(b.text) {
				if _, command, ok := strings.Cut(l, "="+weirBinary(t)+" "); ok {
					checkFlags(t, strings.Fields(command))
				}
			}
		}
		put(t, dir, filepath.Base(b.file), b.text)
		if b.kind == "toml" {
			if out, err := exec.Command(weirBinary(t), "chat", "serve", "--config", file, "--check").CombinedOutput(); err != nil {
				t.Errorf("%s: got %v, want a configuration that the server accepts: %s", b.file, err, out)
			}
		}
	}
	if len(units) != 3 {
		t.Errorf("got %d units in the tutorial, want 3", len(units))
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is missing: the units are not checked")
	}
	if out, err := exec.Command("systemd-analyze", append([]string{"verify", "--man=no"}, units...)...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: got %v, want units without a fault or warning:\n%s", err, out)
	}
}

// checkFlags checks that a command of a unit has the flags with which it is called.
func checkFlags(t *testing.T, command []string) {
	t.Helper()
	help, err := exec.Command(weirBinary(t), append(command[:2:2], "--help")...).CombinedOutput()
	if err != nil {
		t.Errorf("weir %v --help: got %v, want a command that exists: %s", command[:2], err, help)
	}
	for _, w := range command[2:] {
		if strings.HasPrefix(w, "--") && !strings.Contains(string(help), " "+w+"=") {
			t.Errorf("weir %v: got the flag %s in a unit, want only flags that --help lists", command[:2], w)
		}
	}
}
