package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// siteOfChildren starts weir serve in a folder by a model with child processes.
func siteOfChildren(t *testing.T, model, components string) (s *served, dir string) {
	t.Helper()
	dir = t.TempDir()
	writeFile(t, filepath.Join(dir, "site.hcl"), "server {\n  listen = \"127.0.0.1:0\"\n  engine = \"http1\"\n  model = \""+model+"\"\n  drain_timeout = \"5m\"\n}\n"+components)
	s = &served{Cmd: exec.Command(binary(t), "serve", filepath.Join(dir, "site.hcl"))}
	s.url = s.start(t, "serving on")
	return s, dir
}

// TestSIGHUPReachesTheChildProcesses: a service manager sends it to the parent only. They must
// reopen their logs after a rotation.
func TestSIGHUPReachesTheChildProcesses(t *testing.T) {
	for _, model := range []string{"prefork", "process"} {
		t.Run(model, func(t *testing.T) {
			s, dir := siteOfChildren(t, model, "log {\n  file = \"access.log\"\n  flush = \"1ms\"\n}\ntext { text = \"x\" }\n")
			// one connection, so one child
			client := &http.Client{Timeout: 30 * time.Second, Transport: new(http.Transport)}
			defer client.CloseIdleConnections()
			get := func() {
				resp, err := client.Get(s.url)
				if err != nil {
					t.Fatal(err)
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			get()
			log := filepath.Join(dir, "access.log")
			if err := os.Rename(log, log+".1"); err != nil {
				t.Fatal(err)
			}
			if err := s.Process.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			for end := time.Now().Add(10 * time.Second); ; {
				get()
				if text, _ := os.ReadFile(log); bytes.Contains(text, []byte("GET / ")) {
					break
				}
				if time.Now().After(end) {
					t.Fatal("10 s after SIGHUP to the parent: the child writes to the renamed log, want it to open the new one")
				}
			}
			client.CloseIdleConnections()
			s.stop(t)
		})
	}
}

// TestASecondSignalCutsChildProcessesOff: nothing of them is left when the command has ended.
func TestASecondSignalCutsChildProcessesOff(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, model := range []string{"prefork", "process"} {
		t.Run(model, func(t *testing.T) {
			s, _ := siteOfChildren(t, model, "proxy { upstreams = [\"http://"+silent.Addr().String()+"\"] }\n")
			answered := make(chan error, 1) // from the client, one
			go func() {
				resp, err := http.Get(s.url)
				if err == nil {
					resp.Body.Close()
				}
				answered <- err
			}()
			upstream, err := silent.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer upstream.Close()
			for range 2 {
				if err := s.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
				time.Sleep(200 * time.Millisecond) // two signals at once would be one
			}
			began := time.Now()
			<-answered
			if _, err := io.Copy(io.Discard, s.lines); err != nil { // children have it open
				t.Fatal(err)
			}
			if d := time.Since(began); d > 20*time.Second {
				t.Errorf("the child processes ended %v after the second signal, want about a second", d)
			}
			_ = s.Wait()
		})
	}
}
