package main

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A second signal ends the server at once, while it finishes an answer that the client does not
// read.
func TestASecondSignalEndsAtOnce(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large")
	write(t, large, "")
	if err := os.Truncate(large, 1<<30); err != nil {
		t.Fatal(err)
	}
	site := filepath.Join(dir, "site.hcl")
	write(t, site, "server {\n listen = \"127.0.0.1:0\"\n drain_timeout = \"1h\"\n}\nfiles { dir = \".\" }")
	for _, c := range []struct {
		first, second syscall.Signal
		code          int
	}{{syscall.SIGTERM, syscall.SIGINT, 130}, {syscall.SIGINT, syscall.SIGTERM, 143}} {
		s := serveCommand(t, site)
		addr := strings.Trim(strings.TrimPrefix(s.url, "http://"), "/")
		client, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		_, _ = io.WriteString(client, "GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
		if resp, err := http.ReadResponse(bufio.NewReader(client), nil); err != nil || resp.ContentLength != 1<<30 {
			t.Fatalf("GET /large: got %v, error %v, want a response of 1 GiB", resp, err)
		}
		_ = s.Process.Signal(c.first)
		for { // until it stops
			other, err := net.Dial("tcp", addr)
			if err != nil {
				break
			}
			other.Close()
			time.Sleep(time.Millisecond)
		}
		_ = s.Process.Signal(c.second)
		said, _ := io.ReadAll(s.lines)
		err = s.Wait()
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok || exit.ExitCode() != c.code || !strings.Contains(string(said), "stopped at once by a second signal ("+c.second.String()+"): server: cut off: 1 connections") {
			t.Errorf("%v, then %v: %v, want exit status %d\n%s", c.first, c.second, err, c.code, said)
		}
	}
}

// Every command stops so, one that waits for a program that it has started too.
func TestASecondSignalEndsACommandThatWaitsForAProgram(t *testing.T) {
	dir := t.TempDir()
	ready := filepath.Join(dir, "ready")
	cmd := exec.Command(binary(t), "lab", "measure", "--", "sh", "-c", `trap "" TERM INT; : > "$0"; while :; do sleep 0.1; done`, ready)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(ready); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	_ = cmd.Process.Signal(syscall.SIGINT)
	_ = cmd.Process.Signal(syscall.SIGTERM) // the kernel may deliver it before the other
	exit, ok := errors.AsType[*exec.ExitError](cmd.Wait())
	if !ok || exit.ExitCode() != 130 && exit.ExitCode() != 143 || !strings.Contains(said.String(), "stopped at once by a second signal") {
		t.Errorf("%v, want exit status 130 or 143 and that a second signal came:\n%s", exit, said.String())
	}
}

// TestTheSameSignalTwiceAtOnceIsOne sends it as timeout(1) does: to the process and to its group.
func TestTheSameSignalTwiceAtOnceIsOne(t *testing.T) {
	signals := make(chan os.Signal) // from the test
	i := &interrupts{signals: signals, over: make(chan struct{}), ended: make(chan struct{})}
	canceled := make(chan struct{})
	go func() { // until stop
		defer close(i.ended)
		i.wait(func() { close(canceled) })
	}()
	signals <- syscall.SIGTERM
	<-canceled
	signals <- syscall.SIGTERM
	if err := i.stop(errNotDone); err != errNotDone {
		t.Errorf("got %v, want the error of the command alone", err)
	}
}
