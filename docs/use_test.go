package docs

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestAnotherModuleUsesServe writes the module of use-serve-and-flow.md, builds it outside the
// tree, sends it a line and stops it by an interrupt.
func TestAnotherModuleUsesServe(t *testing.T) {
	tree, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, b := range blocks(t, "use-serve-and-flow.md") {
		if b.file == "" {
			continue
		}
		text := strings.ReplaceAll(b.text, "=> ../weir", "=> "+tree)
		if err := os.WriteFile(filepath.Join(dir, b.file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-o", "shout", ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the page's module: got %v, want a binary:\n%s", err, out)
	}
	shout := exec.Command(filepath.Join(dir, "shout"), "--listen", "127.0.0.1:0")
	log, err := shout.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shout.Start(); err != nil {
		t.Fatal(err)
	}
	defer shout.Process.Kill()
	line, err := bufio.NewReader(log).ReadString('\n')
	_, address, found := strings.Cut(strings.TrimSpace(line), "listening at ")
	if err != nil || !found {
		t.Fatalf("got the log line %q, %v, want the address that it listens at", line, err)
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	got := make([]byte, len("HELLO\n"))
	if _, err := io.WriteString(conn, "hello\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != "HELLO\n" {
		t.Errorf("got the answer %q, %v, want HELLO", got, err)
	}
	if err := shout.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := shout.Wait(); err != nil {
		t.Errorf("after an interrupt the program exits with %v, want status 0", err)
	}
}

var (
	examplePackage  = regexp.MustCompile(`(?m)^package \w+_test$`)
	exampleFunction = regexp.MustCompile(`(?m)^func Example\(\)`)
)

// TestTheProgramsOfTheLibrariesAreTheirExamples compares the programs of use-the-libraries.md with
// the package examples, which internal/outside runs in another module.
func TestTheProgramsOfTheLibrariesAreTheirExamples(t *testing.T) {
	programs := 0
	for _, b := range blocks(t, "use-the-libraries.md") {
		if b.kind != "go" {
			continue
		}
		programs++
		example, err := os.ReadFile(filepath.Join("..", b.file, "example_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		want := examplePackage.ReplaceAllString(string(example), "package main")
		want = exampleFunction.ReplaceAllString(want, "func main()")
		if b.text != want {
			t.Errorf("use-the-libraries.md has another program for %s than its example_test.go, want\n%s", b.file, want)
		}
	}
	if programs != 4 {
		t.Errorf("got %d programs in use-the-libraries.md, want 4", programs)
	}
}
