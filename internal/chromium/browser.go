package chromium

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Patience is how long a step in the browser may take on a busy machine.
const Patience = time.Minute

// shared is the browser of this test process.
var shared struct {
	sync.Mutex
	url string // of its protocol; "" while it was not started
	end func()
	err error
}

// Runner runs tests, as a [testing.M] does.
type Runner interface{ Run() int }

type main struct{ tests Runner }

// Main is m, with the browser ended behind its last test.
func Main(m Runner) Runner { return main{m} }

// Run implements Runner.
func (m main) Run() int {
	code := m.tests.Run()
	shared.Lock()
	defer shared.Unlock()
	if shared.end != nil {
		shared.end()
	}
	return code
}

// program is the path of a Chromium, "" where there is none.
func program() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// browser is the address of the shared browser's protocol. The test is skipped where there is no
// Chromium.
func browser(t *testing.T) string {
	t.Helper()
	path := program()
	if path == "" {
		t.Skip("there is no Chromium here: the page is not tested (scripts/setup test gets it)")
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.url == "" && shared.err == nil {
		shared.url, shared.end, shared.err = start(path)
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.url
}

// start starts Chromium in a process group of its own, and gives the address of its protocol. End
// ends the group, and waits for it.
func start(path string) (url string, end func(), err error) {
	dir, err := os.MkdirTemp("", "weir-chromium-")
	if err != nil {
		return "", nil, err
	}
	cmd := exec.Command(path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--no-default-browser-check",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions", "--disable-crash-reporter",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost", "--remote-debugging-port=0", "--user-data-dir="+dir, "about:blank")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r, w, err := os.Pipe()
	if err != nil {
		return "", nil, err
	}
	cmd.Stderr = w
	err = cmd.Start()
	w.Close()
	if err != nil {
		r.Close()
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	// from the reader of its standard error -> to us; closed at its end
	address := make(chan string, 1)
	go func() {
		defer close(address)
		address <- listening(r)
		_, _ = io.Copy(io.Discard, r)
	}()
	end = func() {
		kill(cmd, dir)
		r.Close()
		for range address {
		}
	}
	select {
	case url = <-address:
		if !strings.HasPrefix(url, "ws://") {
			end()
			return "", nil, fmt.Errorf("chromium ended at once: %s", url)
		}
		return url, end, nil
	case <-time.After(Patience):
		end()
		return "", nil, errors.New("chromium does not say where it listens")
	}
}

// kill ends a browser's processes and removes its folder.
func kill(cmd *exec.Cmd, dir string) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Wait()
	// Its other processes are dying, and may still make files. Where nobody reaps them they stay,
	// dead.
	for end := time.Now().Add(2 * time.Second); syscall.Kill(-cmd.Process.Pid, 0) == nil && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	for end := time.Now().Add(Patience); os.RemoveAll(dir) != nil && time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
	}
}

// listening is the address that a browser's standard error names, or all that it said when it ended
// without.
func listening(stderr io.Reader) string {
	var said strings.Builder
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if _, url, ok := strings.Cut(lines.Text(), "DevTools listening on "); ok {
			return url
		}
		fmt.Fprintln(&said, lines.Text())
	}
	return said.String()
}
