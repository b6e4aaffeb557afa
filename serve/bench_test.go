package serve

import (
	"io"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"
)

// BenchmarkEcho sends one message of 1,000 bytes there and back, on 16 connections in turn, so that
// each message wakes the owner of its connection.
func BenchmarkEcho(b *testing.B) {
	for w, trait := range Ways {
		if trait.MultiProcess || trait.LinuxOnly && !onLinux {
			continue
		}
		for _, f := range []form{sessions, handlers} {
			if f == handlers && !trait.RunsHandlers {
				continue
			}
			b.Run(trait.Name+"/"+string(f), func(b *testing.B) { benchmarkEcho(b, Way(w), f) })
		}
	}
}

func benchmarkEcho(b *testing.B, w Way, f form) {
	r := startService(b, w, f, services["echo"], Options{})
	conns := make([]net.Conn, 16)
	for i := range conns {
		conns[i] = r.dial()
	}
	message, back := make([]byte, 1000), make([]byte, 1000)
	b.SetBytes(int64(len(message)))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c := conns[i%len(conns)]
		c.Write(message)
		if _, err := io.ReadFull(c, back); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkConnect opens a connection, sends a message there and back, and closes it. For Process
// and Prefork it shows the cost of starting the program again.
func BenchmarkConnect(b *testing.B) {
	for w, trait := range Ways {
		if trait.LinuxOnly && !onLinux {
			continue
		}
		b.Run(trait.Name, func(b *testing.B) {
			r := startService(b, Way(w), sessions, services["echo"], Options{})
			message := make([]byte, 100)
			for b.Loop() {
				c, err := net.Dial("tcp", r.addr)
				if err != nil {
					b.Fatal(err)
				}
				c.Write(message)
				if _, err := io.ReadFull(c, message); err != nil {
					b.Fatal(err)
				}
				c.Close()
			}
		})
	}
}

// BenchmarkChildStart measures a child process that finds nothing to do, with its CPU time.
func BenchmarkChildStart(b *testing.B) {
	var cpu time.Duration
	for b.Loop() {
		cmd := exec.Command(os.Args[0], childFlag+"process/session/echo")
		if err := cmd.Run(); err == nil {
			b.Fatal("a child that inherits nothing has succeeded")
		}
		cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	b.ReportMetric(float64(cpu.Microseconds())/float64(b.N), "cpu-us/op")
}
