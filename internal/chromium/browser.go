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

// StepTimeout is how long a step in the browser may take on a busy machine.
const StepTimeout = time.Minute

// shared is the browser of this test process.
var shared struct {
	sync.Mutex
	url string // address of its protocol; "" before its start
	end func()
	err error
}

// Runner runs tests, as a [testing.M] does.
type Runner interface{ Run() int }

type browserRunner struct{ tests Runner }

// Main wraps m: it ends the browser after the last test.
func Main(m Runner) Runner { return browserRunner{m} }

// Run implements Runner.
func (m browserRunner) Run() int {
	code := m.tests.Run()
	shared.Lock()
	defer shared.Unlock()
	if shared.end != nil {
		shared.end()
	}
	return code
}

// program returns the path of a Chromium, "" if there is none.
func program() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// browser returns the address of the shared browser's protocol. It skips the test if there is no
// Chromium.
func browser(t *testing.T) string {
	t.Helper()
	path := program()
	if path == "" {
		t.Skip("no Chromium is installed: the page is not tested (install it by scripts/setup test)")
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

// start starts Chromium in a process group of its own and returns the address of its protocol. end
// kills the group and waits for it.
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
	// from the reader of its standard error -> to start; closed at its end
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
			return "", nil, fmt.Errorf("chromium exited at its start: %s", url)
		}
		return url, end, nil
	case <-time.After(StepTimeout):
		end()
		return "", nil, errors.New("chromium did not print its DevTools address in time")
	}
}

// kill ends a browser's processes and removes its folder.
func kill(cmd *exec.Cmd, dir string) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Wait()
	// Its other processes are dying, and may still create files. If no parent reaps them they
	// remain as zombies.
	for end := time.Now().Add(2 * time.Second); syscall.Kill(-cmd.Process.Pid, 0) == nil && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	for end := time.Now().Add(StepTimeout); os.RemoveAll(dir) != nil && time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
	}
}

// listening returns the address in a browser's standard error, or the whole output if it ended
// without one.
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
