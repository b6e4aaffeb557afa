//go:build linux

package chattest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// program is a chat server that can be started.
type program struct {
	name    string
	command []string // with {data} and {addr} in it
	runner  []string // what runs the program, before the command; none if it runs by itself
	idle    int      // connections that it is made for at most; 0: any number

	// where the program is that is built for the tests; nil: see path
	build    func() (string, error)
	features func() (map[string]bool, error) // what it can do, found out once by asking it
}

// the folder of the programs that tests built, for TestMain to remove; empty when none did
var built string

var buildFolder = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "weir-chattest")
	built = dir
	return dir, err
})

// weirBinary builds the server in Go.
var weirBinary = sync.OnceValues(func() (string, error) {
	dir, err := buildFolder()
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "weir")
	if out, err := exec.Command("go", "build", "-o", file, "weir/cmd/weir").CombinedOutput(); err != nil {
		return "", errors.New(string(out))
	}
	return file, nil
})

// chatdBinary builds the server in C. Its error is why it can't be had.
var chatdBinary = sync.OnceValues(func() (string, error) {
	for _, tool := range []string{"cc", "make"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", fmt.Errorf("there is no %s to build it with: scripts/setup test gets it", tool)
		}
	}
	if _, err := os.Stat("../../c/Makefile"); err != nil {
		return "", err
	}
	return buildChatd("cc")
})

// buildChatd builds the server in C, in a folder of a name, with further words for make.
func buildChatd(name string, more ...string) (string, error) {
	dir, err := buildFolder()
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, name, "chatd")
	args := append([]string{"-s", "-C", "../../c", "OUT=" + filepath.Dir(file)}, more...)
	if out, err := exec.Command("make", append(args, file)...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("it does not build:\n%s", out)
	}
	return file, nil
}

// programs are the servers under test, each of which is there or says why not.
var programs = sync.OnceValue(func() []*program {
	var all []*program
	if other := strings.Fields(os.Getenv("WEIR_CHATTEST_SERVER")); len(other) > 0 {
		all = []*program{{name: filepath.Base(other[0]), command: other}}
	} else {
		for _, way := range []string{"loop", "goroutine", "pool", "coroutine"} {
			all = append(all, &program{name: way, command: []string{"weir", "chat", "serve", "--run", way, "--data", "{data}", "--listen", "{addr}", "--flood", "0"}})
		}
		all = append(all, &program{name: "chatd", command: []string{"chatd", "--data", "{data}", "--listen", "{addr}", "--flood", "0", "--clients", "2000"}, idle: 100})
	}
	if os.Getenv("WEIR_CHATTEST_COMPILERS") != "" {
		for _, c := range compilers {
			all = append(all, c.program())
		}
	}
	for _, p := range all {
		p.features = sync.OnceValues(p.ask)
	}
	return all
})

// path is where the program is that a command begins with.
func (p *program) path() (string, error) {
	if p.build != nil {
		return p.build()
	}
	switch p.command[0] {
	case "weir":
		return weirBinary()
	case "chatd":
		return chatdBinary()
	}
	return exec.LookPath(p.command[0])
}

// everyProgram runs a test against each server.
func everyProgram(t *testing.T, f func(t *testing.T, p *program)) {
	for _, p := range programs() {
		t.Run(p.name, func(t *testing.T) {
			p.there(t)
			t.Parallel()
			f(t, p)
		})
	}
}

// there skips a test whose program can't be had on this machine. The server in Go can be had
// everywhere.
func (p *program) there(t *testing.T) {
	t.Helper()
	_, err := p.path()
	if err != nil && p.command[0] == "chatd" {
		t.Skipf("%s: %v", p.name, err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// ask starts the server and finds out which capabilities, commands (in capitals) and room modes
// (+m) it has.
func (p *program) ask() (map[string]bool, error) {
	dir, err := os.MkdirTemp("", "weir-chattest-ask")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	s := &server{program: p, data: dir}
	if err := s.start(); err != nil {
		return nil, err
	}
	c, err := dial(s.addr, "asker")
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	has, err := c.features()
	c.conn.Close()
	return has, errors.Join(err, s.stop())
}

// needs skips a test of what the server can't do.
func (p *program) needs(t *testing.T, words ...string) {
	t.Helper()
	has, err := p.features()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range words {
		if !has[w] {
			t.Skipf("%s has no %s", p.name, w)
		}
	}
}
