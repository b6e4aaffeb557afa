package serve

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// spare is about how many descriptors a starved server may open once it runs.
const spare = 12

// starvedFarewell is the environment variable that has a starved server's sessions say goodbye and
// end, and linger.
const starvedFarewell = "WEIR_SERVE_STARVED_FAREWELL"

// beStarved prints its address, a line once it pauses, and how often it did when its standard input
// has ended.
func beStarved(name string) int {
	way, err := ParseWay(name)
	if err != nil {
		return 2
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 1
	}
	var limit syscall.Rlimit
	syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	limit.Cur = spare + 8
	syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
	ctx, cancel := context.WithCancel(context.Background())
	meter := new(Meter)
	go func() {
		defer cancel()
		fmt.Println(l.Addr())
		for meter.Snapshot().Pauses == 0 {
			time.Sleep(time.Millisecond)
		}
		fmt.Println("paused")
		bufio.NewReader(os.Stdin).ReadString('\n')
	}()
	s, o := services["echo"].open, Options{Meter: meter}
	if os.Getenv(starvedFarewell) != "" {
		s, o.LingerClose = sayGoodbye, tooLong
	}
	err = Run(ctx, way, l, Service{Open: s, State: PerConnection}, o)
	fmt.Println(meter.Snapshot().Pauses, err)
	return 0
}

// On descriptor exhaustion accepting pauses: connections wait, none is lost, and nothing spins.
func TestDescriptorExhaustionPausesAccepting(t *testing.T) {
	for _, w := range inProcess {
		t.Run(w.String(), func(t *testing.T) {
			cmd := exec.Command(os.Args[0], starvedFlag+w.String())
			cmd.Stderr = os.Stderr
			in, _ := cmd.StdinPipe()
			out, _ := cmd.StdoutPipe()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(out)
			addr, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal("no address:", err)
			}
			r := &running{t: t, addr: strings.TrimSpace(addr)}
			conns := make([]*net.TCPConn, 3*spare)
			for i := range conns {
				conns[i] = r.dial()
			}
			// a quick client would have made room before all were taken
			if line, err := lines.ReadString('\n'); err != nil {
				t.Fatalf("it never paused: %q, %v", line, err)
			}
			for _, c := range conns { // each one's end makes room for another
				exchange(t, c, "served at last")
				c.Close()
			}
			in.Close()
			var pauses int
			var failed string
			fmt.Fscan(lines, &pauses, &failed)
			if pauses < 1 || pauses > 1000 || failed != "<nil>" {
				t.Errorf("paused %d times, Run returned %s; want some pauses and no error", pauses, failed)
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}
