package serve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// chatter exchanges messages with the service until the returned function is called.
func chatter(r *running, n int) (stop func()) {
	conns := make([]*net.TCPConn, n)
	ended := make(chan struct{}, n) // chatters -> stop, one each
	for i := range conns {
		conns[i] = r.dial()
		go func() {
			buf := make([]byte, 1000)
			for {
				_, err := conns[i].Write(buf)
				if err == nil {
					_, err = io.ReadFull(conns[i], buf)
				}
				if err != nil {
					ended <- struct{}{}
					return
				}
			}
		}()
	}
	return func() {
		for _, c := range conns {
			c.Close()
		}
		for range conns {
			<-ended
		}
	}
}

// A raw wait keeps its P. It must not stop the rest of the program, nor the garbage collector from
// stopping the world. The test counts messages, not time. While a loop gets no message, collections
// and ticks can only follow one another if none of them waits for a message. A program that hangs
// cannot report that itself, so it is a child process.
func TestTickerAndCollectorGoOnBesideLoops(t *testing.T) {
	for _, w := range []Way{Loop, Coroutine} {
		for _, loops := range []string{"1", "2"} {
			for _, busy := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s loops/busy %v", w, loops, busy), func(t *testing.T) { goesOn(t, w, loops, busy) })
			}
		}
	}
}

func goesOn(t *testing.T, w Way, loops string, busy bool) {
	cmd := exec.Command(os.Args[0], livelyFlag+w.String()+"/"+loops)
	cmd.Stderr = os.Stderr
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(60*time.Second, func() { cmd.Process.Kill() }).Stop()
	lines := bufio.NewReader(out)
	addr, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("the server process printed no address: got error %v, want a line", err)
	}
	stop := func() {}
	if busy {
		r := &running{t: t, addr: strings.TrimSpace(addr)}
		exchange(t, r.dial(), "a message at least")
		stop = chatter(r, 4)
	}
	io.WriteString(in, "go on\n")
	var did, messages int
	fmt.Fscan(lines, &did, &messages)
	stop()
	in.Close()
	if err := cmd.Wait(); err != nil || did != rounds {
		t.Errorf("got %d collections and ticks beside event loops, exit %v; want %d", did, err, rounds)
	}
	if busy != (messages > 0) {
		t.Errorf("got %d messages, want more than 0: %t (only with clients that send)", messages, busy)
	}
}

// rounds is how many collections must finish, each before a tick.
const rounds = 30

// beLively is the main function of a server that collects and ticks after the first line of its
// standard input. It prints how often, and how many messages came, and ends with its standard
// input.
func beLively(what string) int {
	name, number, _ := strings.Cut(what, "/")
	way, err := ParseWay(name)
	if err != nil {
		return 2
	}
	loops, _ := strconv.Atoi(number)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 1
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1) // Run -> here
	meter := new(Meter)
	go func() {
		ended <- runForm(ctx, way, Ways[way].form(), services["echo"], l, Options{Loops: loops, Meter: meter})
	}()
	fmt.Println(l.Addr())
	in := bufio.NewReader(os.Stdin)
	in.ReadString('\n')
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range rounds {
		runtime.GC()
		<-tick.C
	}
	fmt.Println(rounds, meter.Snapshot().Reads)
	in.ReadString('\n')
	cancel()
	if <-ended != nil {
		return 1
	}
	return 0
}

// form returns the preferred form of the model.
func (t WayInfo) form() form {
	if t.Name == Coroutine.String() {
		return handlers
	}
	return sessions
}

func TestLoopsRaiseGOMAXPROCS(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	r := startService(t, Loop, sessions, services["echo"], Options{Loops: 3})
	exchange(t, r.dial(), "up")
	if n := runtime.GOMAXPROCS(0); n < 4 {
		t.Errorf("3 loops run with GOMAXPROCS %d, want one more than the loops", n)
	}
	r.stopsCleanly()
}

func TestAsyncPreemptOffIsRefused(t *testing.T) {
	t.Setenv("GODEBUG", "asyncpreemptoff=1")
	if release, err := reserve(1); err == nil {
		release()
		t.Error("an event loop without preemption signals was accepted, want an error")
	}
}
