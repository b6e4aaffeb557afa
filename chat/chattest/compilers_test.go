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

// A compiler is one that chatd is built by beside the machine's own, perhaps for another machine.
type compiler struct {
	name   string
	cc     string   // what make calls
	runner []string // what runs the program; none for this machine's own
	hint   string   // how to get it
}

var compilers = []compiler{
	{name: "clang", cc: "clang", hint: "apt-get install clang"},
	{name: "musl", cc: "musl-gcc", hint: "apt-get install musl-tools"},
	// Beside a cross compiler the package of 32-bit headers can't be installed: the kernel's are
	// the same.
	{name: "32-bit", cc: "gcc -m32 -Wno-psabi -idirafter /usr/include -idirafter /usr/include/x86_64-linux-gnu", hint: "apt-get install gcc-multilib, or gcc-12-multilib"},
	{name: "arm64", cc: "aarch64-linux-gnu-gcc -static", runner: []string{"qemu-aarch64"}, hint: "apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user"},
	{name: "arm", cc: "arm-linux-gnueabihf-gcc -static", runner: []string{"qemu-arm"}, hint: "apt-get install gcc-arm-linux-gnueabihf libc6-dev-armhf-cross qemu-user"},
}

// missing says why the compiler can't be used here, nil if it can: it is found, and makes a program
// that runs.
func (c compiler) missing() error {
	if c.name == "32-bit" && runtime.GOARCH != "amd64" {
		return errors.New("it is tried on amd64 alone")
	}
	words := strings.Fields(c.cc)
	for _, tool := range append([]string{words[0]}, c.runner...) {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("there is no %s: %s", tool, c.hint)
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
		return fmt.Errorf("%s makes no program that runs: %s", c.cc, c.hint)
	}
	return nil
}

// program is chatd as the compiler builds it.
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

// The server in C is the same whatever compiled it, for whatever machine: it is talked to, and
// killed. WEIR_CHATTEST_COMPILERS=1 has all tests run against each.
func TestCompilers(t *testing.T) {
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
