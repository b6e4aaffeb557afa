package subject

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests or, with the argument "as", one of the servers that the tests start. The
// test binary is its own set of subjects, so that no test needs a compiler.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "as" {
		os.Exit(as(os.Args[2], os.Args[3]))
	}
	// a server under the race detector exits as fast as without
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	goleak.VerifyTestMain(m)
}

// as runs the server that kind names, at addr, until SIGTERM.
func as(kind, addr string) int {
	term := make(chan os.Signal, 1)
	switch kind {
	case "dies":
		fmt.Fprintln(os.Stderr, "loading\ncannot read the moon phase")
		return 3
	case "silent":
		signal.Notify(term, syscall.SIGTERM)
		<-term
		return 0
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		// without cgo, an empty select is a deadlock
		signal.Notify(term, syscall.SIGUSR1)
	case "mortal": // SIGTERM has its default effect
		signal.Notify(term, syscall.SIGUSR1)
	default:
		signal.Notify(term, syscall.SIGTERM)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer l.Close()
	switch kind {
	case "talks":
		fmt.Println("listening soon")
	case "parent":
		child := exec.Command(os.Args[0], "as", "silent", addr)
		child.SysProcAttr = &syscall.SysProcAttr{Setpgid: false}
		if err := child.Start(); err != nil {
			return 1
		}
	case "env":
		fmt.Fprintln(os.Stderr, os.Getenv("GREETING"))
	case "godebug":
		fmt.Fprintln(os.Stderr, "GODEBUG is "+os.Getenv("GODEBUG"))
	case "shell": // as a shell reports its child's exit
		<-term
		return 128 + int(syscall.SIGTERM)
	case "bad end":
		<-term
		fmt.Fprintln(os.Stderr, "cannot save")
		return 7
	}
	<-term
	return 0
}

// scratch writes a subject.toml with the required keys and the given lines, and reads it.
func scratch(t *testing.T, kind string, lines ...string) *Subject {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("name=\"scratch\"\nlanguage=\"Go\"\nparadigm=\"none\"\nworkloads=[\"sink\"]\nrun=[%q, \"as\", %q, \"{addr}\"]\n", self, kind)
	s, err := Read(write(t, filepath.Join(t.TempDir(), fileName), text+strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// write creates a file and the folders above it.
func write(t *testing.T, file, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// wantError checks that err contains all the parts, in one line unless one of the parts has
// several.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("got no error, want one with %q", parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("got error %q, want one with %q", err, p)
		}
	}
}
