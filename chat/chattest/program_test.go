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
	command []string // contains {data} and {addr}
	// prefix of the command that runs the program, such as an emulator; none if it runs natively
	runner []string
	idle   int // maximum number of connections that it is designed for; 0 means any

	// builds the program and returns its path; nil: see path
	build func() (string, error)
	// the features that it supports, determined once by asking it
	features func() (map[string]bool, error)
}

// The folder of the programs that tests built, which TestMain removes; "" if there is none.
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

// chatdBinary builds the server in C, or returns why it cannot.
var chatdBinary = sync.OnceValues(func() (string, error) {
	for _, tool := range []string{"cc", "make"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", fmt.Errorf("%s is not installed: run scripts/setup test", tool)
		}
	}
	if _, err := os.Stat("../../c/Makefile"); err != nil {
		return "", err
	}
	return buildChatd("cc")
})

// buildChatd builds the server in C in a folder with this name; more are arguments of make.
func buildChatd(name string, more ...string) (string, error) {
	dir, err := buildFolder()
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, name, "chatd")
	args := append([]string{"-s", "-C", "../../c", "OUT=" + filepath.Dir(file)}, more...)
	if out, err := exec.Command("make", append(args, file)...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("building chatd: %w\n%s", err, out)
	}
	return file, nil
}

// programs returns the servers under test.
var programs = sync.OnceValue(func() []*program {
	var all []*program
	if other := strings.Fields(os.Getenv("WEIR_CHATTEST_SERVER")); len(other) > 0 {
		all = []*program{{name: filepath.Base(other[0]), command: other}}
	} else {
		for _, model := range []string{"loop", "goroutine", "pool", "coroutine"} {
			all = append(all, &program{name: model, command: []string{"weir", "chat", "serve", "--model", model, "--data", "{data}", "--listen", "{addr}", "--flood", "0"}})
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

// path returns the path of the program.
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

// there skips the test if the program cannot be built on this machine. The server in Go can be
// built everywhere.
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

// ask starts the server and returns its capabilities, commands (in capitals) and room modes (+m).
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

// needs skips the test if the server lacks a feature.
func (p *program) needs(t *testing.T, words ...string) {
	t.Helper()
	has, err := p.features()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range words {
		if !has[w] {
			t.Skipf("%s does not support %s", p.name, w)
		}
	}
}
