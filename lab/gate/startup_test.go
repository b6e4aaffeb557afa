package gate

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"weir/lab/subject"
)

// started returns the error of a start of a shell command, and checks that it left no process.
func started(t *testing.T, command string, port int) error {
	t.Helper()
	r := newRepository(t)
	s, err := subject.FromCommands("base", subject.Commands{Dir: r.dir, Out: r.dir, Run: []string{"sh", "-c", command, r.temp + "/weir-gate-x", "{port}"}, Port: port, Workloads: []string{"echo"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = startOnce(t.Context(), s, "echo")
	r.wantClean()
	return err
}

func TestAStartThatFailsSaysWhy(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, c := range []struct {
		name, command, want string
		port                int
	}{
		{name: "exits", command: "echo no luck >&2; exit 3", want: `exited before it accepted a connection (exit status 3); its last line is "no luck"`},
		{name: "goes into the background", command: "env -i setsid sleep 1000 $0 & exit 0", want: "(exit status 0)"},
		{name: "port in use", command: "sleep 1000 $0", port: taken.Addr().(*net.TCPAddr).Port, want: subject.ErrPortInUse.Error()},
	} {
		t.Run(c.name, func(t *testing.T) {
			began := time.Now()
			if err := started(t, c.command, c.port); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
			if took := time.Since(began); took > startTimeout {
				t.Errorf("got the error after %v, want it at once", took)
			}
		})
	}
	if c, err := net.Dial("tcp", taken.Addr().String()); errors.Join(err, c.Close()) != nil {
		t.Error("got the other program killed, want it left alone")
	}
}
