package stream

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// faulty is a server that fulfils the contract, except for one fault.
type faulty struct {
	fault, workload  string
	size, work, wait int
	out              sync.Mutex
	global           sync.Mutex // held if the fault is to serve one connection at a time
	handlers         sync.WaitGroup
	mu               sync.Mutex
	conns            map[net.Conn]bool
	stopping         bool
	stop             chan struct{} // closed by SIGTERM: waits end
	reads            int
}

func serveWith(args []string) int {
	f := &faulty{conns: map[net.Conn]bool{}, stop: make(chan struct{})}
	flags := flag.NewFlagSet("faulty", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	listen := flags.String("listen", "", "")
	flags.StringVar(&f.fault, "fault", "", "")
	flags.StringVar(&f.workload, "workload", "sink", "")
	flags.IntVar(&f.size, "size", 1000, "")
	flags.IntVar(&f.work, "work-us", 0, "")
	flags.IntVar(&f.wait, "wait-ms", 0, "")
	err := flags.Parse(args)
	_, addrErr := net.ResolveTCPAddr("tcp", *listen)
	if f.fault == "takes any flag" && err != nil {
		return 0
	}
	if err != nil || addrErr != nil || f.size < 1 || f.wait < 0 || f.workload != "sink" && f.workload != "echo" {
		fmt.Fprintln(os.Stderr, "faulty: bad usage")
		if f.fault == "says too much" {
			fmt.Fprintln(os.Stderr, "usage: ...")
		}
		return 2
	}
	return f.serve(*listen)
}

func (f *faulty) serve(addr string) int {
	term := make(chan os.Signal, 1) // from the runtime; one is enough
	signals := []os.Signal{syscall.SIGTERM, syscall.SIGINT}
	if f.fault == "dies of SIGINT" {
		signals = signals[:1]
	}
	if f.fault != "dies of SIGTERM" {
		signal.Notify(term, signals...)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		if f.fault == "silent about its port" {
			return 1
		}
		fmt.Fprintln(os.Stderr, "faulty:", err)
		return 1
	}
	if f.fault == "leaves a child" {
		_ = exec.Command("sleep", "1000").Start()
	}
	if f.fault == "chatters" {
		fmt.Println("ready")
	}
	go f.accept(l)
	<-term
	if f.fault == "ignores SIGTERM" {
		select {}
	}
	if f.fault == "drops at SIGTERM" {
		return 0
	}
	l.Close()
	if f.fault != "waits on at SIGTERM" {
		close(f.stop)
	}
	f.mu.Lock()
	f.stopping = true
	for c := range f.conns {
		_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	}
	f.mu.Unlock()
	f.handlers.Wait()
	if f.fault == "exits with 3" {
		return 3
	}
	return 0
}

func (f *faulty) accept(l net.Listener) {
	for accepted := 1; ; accepted++ {
		c, err := l.Accept()
		if err != nil {
			return
		}
		f.mu.Lock()
		f.conns[c] = true
		f.mu.Unlock()
		// not the open ones: a quick client leaves before the hundredth connects
		if f.fault == "takes 100" && accepted > 100 {
			c.Close()
			continue
		}
		f.handlers.Add(1)
		if f.fault == "one at a time" {
			f.handle(c)
		} else {
			go f.handle(c)
		}
	}
}

func (f *faulty) handle(c net.Conn) {
	defer f.handlers.Done()
	defer func() {
		f.mu.Lock()
		delete(f.conns, c)
		f.mu.Unlock()
		c.Close()
	}()
	buf := make([]byte, 4096)
	messages := 0 // bytes so far
	for {
		n, err := read(c, buf)
		if n > 0 {
			k := (messages+n)/f.size - messages/f.size
			messages += n
			if f.fault == "drops at SIGTERM" && messages > f.size {
				select {} // SIGTERM finds the rest unhandled on any machine
			}
			f.burn(k)
			if f.fault == "drops what waits at SIGTERM" && k > 0 {
				return
			}
			f.put(c, buf[:n], messages)
		}
		if err == nil {
			f.mu.Lock()
			if f.stopping {
				_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
			}
			f.mu.Unlock()
			continue
		}
		if err != io.EOF && f.fault == "dies of a reset" {
			os.Exit(1)
		}
		if f.fault == "never closes" {
			select {}
		}
		return
	}
}

// read reads. An expired deadline hides input that arrived before it: after SIGTERM it reads once
// more.
func read(c net.Conn, buf []byte) (n int, err error) {
	if n, err = c.Read(buf); !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	raw, noRaw := c.(*net.TCPConn).SyscallConn()
	if noRaw != nil || c.SetReadDeadline(time.Time{}) != nil {
		return 0, err
	}
	_ = raw.Read(func(fd uintptr) bool {
		if m, fail := syscall.Read(int(fd), buf); m > 0 && fail == nil {
			n, err = m, nil
		}
		return true
	})
	return n, err
}

// burn uses the CPU of a message.
func (f *faulty) burn(k int) {
	if k == 0 {
		return
	}
	if f.fault != "does not work" {
		for end := time.Now().Add(time.Duration(k*f.work) * time.Microsecond); time.Now().Before(end); {
		}
	}
	if f.fault == "waits for all" {
		f.global.Lock()
		defer f.global.Unlock()
	}
	if f.fault != "does not wait" {
		select {
		case <-time.After(time.Duration(k*f.wait) * time.Millisecond):
		case <-f.stop:
		}
	}
}

// put writes the input to standard output or to the connection.
func (f *faulty) put(c net.Conn, b []byte, total int) {
	f.out.Lock()
	f.reads++
	reads := f.reads
	if f.fault != "one slow reader stops all" {
		f.out.Unlock()
	} else {
		defer f.out.Unlock()
	}
	w := io.Writer(os.Stdout)
	if f.workload == "echo" {
		w = c
	}
	switch {
	case f.fault == "loses a read" && reads%10 == 9:
		return
	case f.fault == "loses a byte" && reads == 1:
		b = b[1:]
	case f.fault == "doubles a read" && reads%10 == 9:
		_, _ = w.Write(b)
	case f.fault == "swaps halves" && reads%10 == 9 && len(b) > 200:
		h := len(b) / 2
		b = append(bytes.Clone(b[h:]), b[:h]...)
	case f.fault == "ends at NUL":
		b, _, _ = bytes.Cut(b, []byte{0})
	case f.fault == "changes a byte" && reads == 1:
		b[0] ^= 1
	case f.fault == "stops after 20000" && total > 20000:
		return
	case f.fault == "mixes connections" && f.workload == "echo" && reads%10 == 9:
		f.mu.Lock()
		for other := range f.conns {
			w = other
		}
		f.mu.Unlock()
	case f.fault == "queues without end" && f.workload == "echo":
		go func(b []byte) { _, _ = w.Write(b) }(bytes.Clone(b))
		return
	}
	_, _ = w.Write(b)
}
