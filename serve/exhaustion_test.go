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

// spareDescriptors is about how many descriptors a starved server may open once it runs.
const spareDescriptors = 12

// starvedFarewell is the environment variable that makes a starved server's sessions say goodbye,
// end, and linger.
const starvedFarewell = "WEIR_SERVE_STARVED_FAREWELL"

// beStarved is the main function of a server with few descriptors. It prints its address, a line
// once it pauses, and the number of pauses when its standard input has ended.
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
	limit.Cur = spareDescriptors + 8
	syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
	ctx, cancel := context.WithCancel(context.Background())
	meter := new(Meter)
	go func() {
		defer cancel()
		fmt.Println(l.Addr())
		for meter.Snapshot().AcceptPauses == 0 {
			time.Sleep(time.Millisecond)
		}
		fmt.Println("paused")
		bufio.NewReader(os.Stdin).ReadString('\n')
	}()
	s, o := services["echo"].open, Options{Meter: meter}
	if os.Getenv(starvedFarewell) != "" {
		s, o.LingerTimeout = sayGoodbye, tooLong
	}
	err = Run(ctx, way, l, Service{Open: s, State: PerConnection}, o)
	fmt.Println(meter.Snapshot().AcceptPauses, err)
	return 0
}

// When descriptors run out accepting pauses: connections wait, none is lost, and the server does
// not spin.
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
				t.Fatalf("the server process printed no address: got error %v, want a line", err)
			}
			r := &running{t: t, addr: strings.TrimSpace(addr)}
			conns := make([]*net.TCPConn, 3*spareDescriptors)
			for i := range conns {
				conns[i] = r.dial()
			}
			// a quick client would have freed descriptors before all were taken
			if line, err := lines.ReadString('\n'); err != nil {
				t.Fatalf("waiting for the pause: got %q, error %v; want a line when descriptors run out", line, err)
			}
			for _, c := range conns { // each close frees a descriptor for another
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
