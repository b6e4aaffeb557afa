//go:build linux

package chattest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// compiler is a compiler that builds chatd, besides the default one, possibly for another
// architecture.
type compiler struct {
	name   string
	cc     string   // command, for make's CC
	runner []string // runs the program; none if it runs natively
	hint   string   // how to install it
}

var compilers = []compiler{
	{name: "clang", cc: "clang", hint: "apt-get install clang"},
	{name: "musl", cc: "musl-gcc", hint: "apt-get install musl-tools"},
	// The package of 32-bit headers conflicts with cross compilers. The kernel headers are the
	// same, so these directories are used.
	{name: "32-bit", cc: "gcc -m32 -Wno-psabi -idirafter /usr/include -idirafter /usr/include/x86_64-linux-gnu", hint: "apt-get install gcc-multilib, or gcc-12-multilib"},
	{name: "arm64", cc: "aarch64-linux-gnu-gcc -static", runner: []string{"qemu-aarch64"}, hint: "apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user"},
	{name: "arm", cc: "arm-linux-gnueabihf-gcc -static", runner: []string{"qemu-arm"}, hint: "apt-get install gcc-arm-linux-gnueabihf libc6-dev-armhf-cross qemu-user"},
}

// missing returns why the compiler cannot be used here, or nil: it is installed and builds a
// program that runs.
func (c compiler) missing() error {
	if c.name == "32-bit" && runtime.GOARCH != "amd64" {
		return errors.New("it is tested on amd64 only")
	}
	words := strings.Fields(c.cc)
	for _, tool := range append([]string{words[0]}, c.runner...) {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%s is not installed: %s", tool, c.hint)
		}
	}
	dir, err := os.MkdirTemp("", "weir-chattest-cc")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	source, probe := filepath.Join(dir, "probe.c"), filepath.Join(dir, "probe")
	if err := os.WriteFile(source, []byte("#include <stdlib.h>\n#include <sys/socket.h>\nint main(void) { return 0; }\n"), 0o600); err != nil {
		return err
	}
	build := append(words[1:], "-o", probe, source)
	run := append(append([]string{}, c.runner...), probe)
	if exec.Command(words[0], build...).Run() != nil || exec.Command(run[0], run[1:]...).Run() != nil {
		return fmt.Errorf("a program built by %s does not run: %s", c.cc, c.hint)
	}
	return nil
}

// program returns chatd as built by the compiler.
func (c compiler) program() *program {
	flags := []string{"chatd", "--data", "{data}", "--listen", "{addr}", "--flood", "0", "--clients", "2000"}
	if len(c.runner) > 0 {
		flags = append(flags, "--no-sandbox") // the emulator needs system calls of its own
	}
	p := &program{name: "chatd " + c.name, command: flags, idle: 100, runner: c.runner}
	p.build = sync.OnceValues(func() (string, error) {
		if err := c.missing(); err != nil {
			return "", err
		}
		return buildChatd(c.name, "CC="+c.cc)
	})
	p.features = sync.OnceValues(p.ask)
	return p
}

// chatd behaves the same with every compiler and architecture: the conversations and the crash test
// run against each. WEIR_CHATTEST_COMPILERS=1 runs all tests against each.
func TestEveryCompiler(t *testing.T) {
	for _, c := range compilers {
		t.Run(c.name, func(t *testing.T) {
			p := c.program()
			p.there(t)
			t.Parallel()
			t.Run("conversations", func(t *testing.T) { conversations(t, p) })
			t.Run("crash", func(t *testing.T) { crashAgain(t, p, 2, 1) })
		})
	}
}
