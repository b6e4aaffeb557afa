//go:build amd64 || arm64

package program

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"weir/tcpip"
	"weir/tcpip/tcp"
)

func TestTheStatusIsThatOfTheCommand(t *testing.T) {
	for script, want := range map[string]int{"exit 7": 7, "exit 0": 0, "kill -9 $$": 137, "kill -TERM $$": 143} {
		if out, status := runOnStack(t, Config{Command: []string{"sh", "-c", script}}); status != want || out != "" {
			t.Errorf("%s: got status %d and %q, want %d", script, status, out, want)
		}
	}
}

func TestArgumentsAreThoseOfTheCommand(t *testing.T) {
	args := []string{"", "a b", "\xff\xfe", "caf\xe9", "line\nline", "<&>", strings.Repeat("x", 100000)}
	want := strings.Join(args, "|") + "|"
	if out, status := runOnStack(t, Config{Command: append([]string{"printf", "%s|"}, args...)}); out != want || status != 0 {
		t.Errorf("got status %d and %.60q, want 0 and %.60q", status, out, want)
	}
}

func TestInvalidCommandsAreRejected(t *testing.T) {
	for _, command := range [][]string{nil, {"printf", "a\x00b"}} {
		if _, err := Start(Config{Stack: newStack(t), Command: command, Self: []string{os.Args[0], "guard"}}); err == nil {
			t.Errorf("%q: got no error, want one", command)
		}
	}
}

func TestACommandThatCannotBeStarted(t *testing.T) {
	for name, want := range map[string]int{"no-such-program": 127, "/no/such/program": 127, "/etc/passwd": 126, t.TempDir(): 126} {
		_, err := Start(Config{Stack: newStack(t), Command: []string{name}, Self: []string{os.Args[0], "guard"}})
		failed, ok := errors.AsType[*StartError](err)
		if !ok || failed.Status != want || !strings.Contains(failed.Reason, name) {
			t.Errorf("%s: got the error %#v, want one with its name and status %d", name, err, want)
		}
	}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for range 1000 {
		if condition() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s: not within 10 s", what)
}

func TestSignalsArePassedOn(t *testing.T) {
	ready := filepath.Join(t.TempDir(), "ready")
	p, output := startOnStack(t, Config{Command: []string{"sh", "-c", `trap "echo hangup" HUP; trap "exit 5" TERM; : > $0; while :; do sleep 0.01; done`, ready}})
	eventually(t, "the traps are set", func() bool { _, err := os.Stat(ready); return err == nil })
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM} {
		if err := p.Signal(s); err != nil {
			t.Fatal(err)
		}
		if s == syscall.SIGHUP {
			eventually(t, "the first signal has arrived", func() bool { return output() != "" })
		}
	}
	if status, err := p.Wait(); status != 5 || err != nil || output() != "hangup\n" {
		t.Errorf("got status %d, %v and %q, want 5 and both signals", status, err, output())
	}
}

// running reports whether a process runs: one that has ended and was not waited for does not.
func running(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// daemons starts two processes that leave their parent and its process group, one of which ignores
// SIGTERM, and writes their numbers to a file.
const daemons = `setsid sh -c 'echo $$ >> "$0"; exec sleep 1000' "$0" & setsid sh -c 'trap "" TERM; echo $$ >> "$0"; (sleep 1000 & wait)' "$0" & while test $(wc -l < "$0") -lt 2; do sleep 0.01; done; `

// numbers reads numbers of processes from a file.
func numbers(file string) (all []int) {
	text, _ := os.ReadFile(file)
	for field := range strings.FieldsSeq(string(text)) {
		if pid, err := strconv.Atoi(field); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

func TestWhatTheCommandLeavesIsEnded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pids")
	os.WriteFile(file, nil, 0o600) //nolint:errcheck // the script shows it
	if out, status := runOnStack(t, Config{Command: []string{"bash", "-c", daemons + "exit 3", file}}); status != 3 {
		t.Errorf("got status %d and %q, want 3", status, out)
	}
	pids := numbers(file)
	if len(pids) != 2 {
		t.Fatalf("got the processes %v, want two", pids)
	}
	for _, pid := range pids {
		if running(pid) {
			t.Errorf("process %d runs, want its end", pid)
		}
	}
}

// supervise runs a command on a stack, for TestAllEndsWithTheSupervisor.
func supervise(command []string) {
	if command[0] == "untraced" {
		superviseUntraced()
		return
	}
	s := must(tcpip.New(tcpip.Config{}))
	p := must(Start(Config{Stack: s, Command: command, Self: []string{os.Args[0], "guard"}}))
	p.Wait() //nolint:errcheck // it is killed
}

func TestAllEndsWithTheSupervisor(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pids")
	os.WriteFile(file, nil, 0o600) //nolint:errcheck // the script shows it
	c := exec.Command(os.Args[0], "supervise", "bash", "-c", daemons+`echo $$ >> "$0"; while :; do sleep 1; done`, file)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the processes run", func() bool { return len(numbers(file)) == 3 })
	c.Process.Kill() //nolint:errcheck // Wait shows it
	c.Wait()         //nolint:errcheck // it was killed
	for _, pid := range numbers(file) {
		eventually(t, fmt.Sprintf("process %d has ended", pid), func() bool { return !running(pid) })
	}
}

// The limit of descriptors may be lower than the number of one that is inherited.
func TestAProgramStartsWithFewDescriptors(t *testing.T) {
	script := `exec 99<&0; ulimit -n 20; exec "$0" supervise sh -c "test -e /proc/self/fd/99 && echo inherited"`
	if out, err := exec.Command("bash", "-c", script, os.Args[0]).CombinedOutput(); err != nil || string(out) != "inherited\n" {
		t.Errorf("got %q and %v, want the program's output", out, err)
	}
}

// superviseUntraced is supervise where the kernel forbids pidfd_getfd, as Yama does.
func superviseUntraced() {
	var f filter
	f.load(offsetNumber)
	f.unless(unix.SYS_PIDFD_GETFD, 1)
	f.ret(unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM))
	f.ret(unix.SECCOMP_RET_ALLOW)
	must(0, unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	fprog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&fprog))); errno != 0 {
		panic(errno)
	}
	_, err := Start(Config{Stack: must(tcpip.New(tcpip.Config{})), Command: []string{"echo", "started"}, Self: []string{os.Args[0], "guard"}})
	fmt.Println(err)
}

func TestAProgramThatMayNotBeTracedIsNotStarted(t *testing.T) {
	out, err := exec.Command(os.Args[0], "supervise", "untraced").Output()
	if err != nil || !strings.Contains(string(out), "ptrace_scope") || strings.Contains(string(out), "started\n") {
		t.Errorf("got %q and %v, want an error that says why", out, err)
	}
}

func TestRefusedCallsAreExplainedWithinALimit(t *testing.T) {
	var lines []string
	s := &supervisor{said: map[string]bool{}, config: Config{Refused: func(line string) { lines = append(lines, line) }}}
	for range 2 {
		for i := range maxSaid + 3 {
			s.explain(strconv.Itoa(i))
		}
	}
	s.explainRest()
	if len(lines) != maxSaid+1 || len(s.said) != maxSaid {
		t.Fatalf("got %d lines, and remembered %d, want %d and one more", len(lines), len(s.said), maxSaid)
	}
	if last := lines[maxSaid]; !strings.HasPrefix(last, "6 more calls were refused") {
		t.Errorf("got %q as the last line, want one that counts the others", last)
	}
}

func TestConnectionsEndWithTheProgram(t *testing.T) {
	s := newStack(t)
	l, err := s.Listen("tcp", "127.0.0.1:7777")
	if err != nil {
		t.Fatal(err)
	}
	p, _ := startOnStack(t, Config{Stack: s, Command: []string{"bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/7777; echo hello >&3; sleep 1000"}})
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b := make([]byte, 10)
	if n, err := c.Read(b); string(b[:n]) != "hello\n" {
		t.Errorf("got %q and %v, want the greeting", b[:n], err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(b); !errors.Is(err, io.EOF) {
		t.Errorf("got %q and %v, want the end of the stream", b[:n], err)
	}
	p.Wait() //nolint:errcheck // it was killed
	if now := s.ConnectionStates(); now[tcp.Established] > 0 {
		t.Errorf("got the connections %v, want none that is established", now)
	}
}

// Data that the command has written before its end is sent, though the peer reads slowly.
func TestDataIsSentAfterTheEnd(t *testing.T) {
	s := newStack(t)
	l, err := s.Listen("tcp", "127.0.0.1:7777")
	if err != nil {
		t.Fatal(err)
	}
	received := make(chan int64)
	go func() { // until the end of the stream
		c, err := l.Accept()
		if err != nil {
			close(received)
			return
		}
		defer c.Close()
		time.Sleep(50 * time.Millisecond)
		n, _ := io.Copy(io.Discard, c)
		received <- n
	}()
	_, status := runOnStack(t, Config{Stack: s, Command: []string{"bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/7777; head -c 3000000 /dev/zero >&3"}})
	if n := <-received; n != 3000000 || status != 0 {
		t.Errorf("got %d bytes and status %d, want 3000000 and 0", n, status)
	}
}

// talkInterrupted waits in accept and recvfrom while signals come.
func talkInterrupted(t *talker) {
	l, at := t.listen()
	result := make(chan error)
	go func() {
		_, _, err := unix.Accept(l)
		for err == unix.EINTR {
			_, _, err = unix.Accept(l)
		}
		result <- err
	}()
	for range 50 { // Go's handlers restart calls
		time.Sleep(time.Millisecond)
		unix.Kill(unix.Getpid(), unix.SIGURG)
	}
	c := t.socket(unix.SOCK_STREAM)
	t.did("connect", unix.Connect(c, at))
	t.did("accept", <-result)
}

// disturb has signals interrupt the calls of this thread until the function that it returns is
// called. They pause at times: otherwise a call that takes longer than the time between two signals
// would be interrupted for ever.
func disturb() (end func()) {
	runtime.LockOSThread() // never unlocked: the conversation is short
	tid, done := unix.Gettid(), make(chan struct{})
	go func() { // until done is closed
		for n := 1; ; n++ {
			select {
			case <-done:
				return
			default:
			}
			unix.Tgkill(unix.Getpid(), tid, unix.SIGURG) //nolint:errcheck // the thread runs
			time.Sleep(time.Microsecond)
			if n%100 == 0 {
				time.Sleep(20 * time.Millisecond)
			}
		}
	}()
	return func() { close(done) }
}

// talkRestarted makes calls that are executed once only, while signals interrupt their thread.
func talkRestarted(t *talker) {
	defer disturb()()
	failed := map[string]int{}
	for range 500 {
		fd := t.socket(unix.SOCK_STREAM)
		if err := unix.Bind(fd, local4); err != nil {
			failed["bind: "+err.Error()]++
		}
		if err := unix.Listen(fd, 1); err != nil {
			failed["listen: "+err.Error()]++
		}
		unix.Close(fd)
	}
	t.say("few failures: %v", len(failed) == 0 || failed["bind: invalid argument"] <= rareLosses)
}

// rareLosses is how many of 500 calls may lose their answer: the kernel loses it if a signal comes
// at the moment of the answer, and the supervisor does not learn of that.
const rareLosses = 5

// talkRestartedDatagrams waits for datagrams while signals interrupt its thread: none is lost.
func talkRestartedDatagrams(t *talker) {
	s, at := t.datagramSocket()
	c, back := t.datagramSocket()
	must(0, unix.SetsockoptTimeval(c, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 2}))
	go func() { // until the end of the program
		b := make([]byte, 10)
		for {
			n, _, err := unix.Recvfrom(s, b, 0)
			if err == nil {
				time.Sleep(50 * time.Microsecond) // the other one waits
				unix.Sendto(s, b[:n], 0, back)    //nolint:errcheck // the other one sees it
			}
		}
	}()
	defer disturb()()
	var now, lost atomic.Int32
	copied := *at // Sendto writes to it
	go func() {   // until the end of the program
		for before := int32(-1); ; before = now.Load() {
			time.Sleep(500 * time.Millisecond)
			if now.Load() == before {
				lost.Add(1)
				unix.Sendto(c, []byte("again"), 0, &copied) //nolint:errcheck // the loop goes on
			}
		}
	}()
	b := make([]byte, 10)
	for i := range 500 {
		now.Store(int32(i))
		must(0, unix.Sendto(c, []byte{byte(i)}, 0, at))
		_, _, err := unix.Recvfrom(c, b, 0)
		for err == unix.EINTR {
			_, _, err = unix.Recvfrom(c, b, 0)
		}
		if err != nil {
			lost.Add(1)
		}
	}
	t.say("few lost: %v", lost.Load() <= rareLosses)
}

// talkManyConnections opens connections one after the other: no descriptor is a wrong one.
func talkManyConnections(t *talker) {
	l, at := t.listen()
	for range 1000 {
		c := t.socket(unix.SOCK_STREAM)
		if err := unix.Connect(c, at); err != nil && err != unix.EINTR {
			t.say("connect of descriptor %d: %v", c, err)
		}
		s, _, err := unix.Accept4(l, unix.SOCK_CLOEXEC)
		if err != nil || s == 0 {
			t.say("accept: descriptor %d, %v", s, err)
		}
		unix.Close(c)
		unix.Close(s)
	}
	t.say("done")
}

// Signals interrupt the threads of this process all the time, as Go's runtime does now and then.
func TestConnectionsWhileSignalsInterruptTheSupervisor(t *testing.T) {
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() { // until done is closed
		defer close(ended)
		for {
			select {
			case <-done:
				return
			default:
				threads, _ := os.ReadDir("/proc/self/task")
				for _, thread := range threads {
					tid, _ := strconv.Atoi(thread.Name())
					unix.Tgkill(os.Getpid(), tid, unix.SIGURG) //nolint:errcheck // it may have ended
				}
			}
		}
	}()
	out, status := runOnStack(t, Config{Command: []string{os.Args[0], "converse", "many connections"}})
	close(done)
	<-ended
	if out != "done\n" || status != 0 {
		t.Errorf("got %q and status %d, want all connections", out, status)
	}
}

// TestAnAnswerThatWasNotSentIsKept: the next call of the thread gets it if it is the same call.
func TestAnAnswerThatWasNotSentIsKept(t *testing.T) {
	bind := notification{tid: 7, number: unix.SYS_BIND, ip: 1, args: [6]uint64{3}}
	other := bind
	other.args[0] = 4
	stranger := bind
	stranger.tid = 8
	for _, c := range []struct {
		name string
		kept answer
		next notification
		want bool
	}{
		{"the same call", value(0), bind, true},
		{"a call with other arguments", value(0), other, false},
		{"the call of another thread", value(0), stranger, false},
		{"a call that has changed nothing", failed(unix.EADDRINUSE), bind, false},
		{"a connect that goes on", failed(unix.EINPROGRESS), bind, true},
	} {
		s := &supervisor{unsent: map[uint32]unsentAnswer{}}
		s.keepUnsent(bind, c.kept)
		if a, got := s.takeUnsent(&c.next); got != c.want || got && a != c.kept {
			t.Errorf("%s: got %v and %v, want %v", c.name, a, got, c.want)
		}
		if _, again := s.takeUnsent(&c.next); again {
			t.Errorf("%s: got the answer twice, want it once", c.name)
		}
	}
}

func TestAddressesWithoutARoute(t *testing.T) {
	want := `connect: ok
connect to a far address: ENETUNREACH
send: ok
send to a far address: ENETUNREACH
send to itself: ok
receive: 1 bytes, "x"
receive: [127 0 0 1], port 0 of those
connect: ENETUNREACH
`
	if out, _ := runOnStack(t, Config{Command: []string{os.Args[0], "converse", "unreachable"}}); out != want {
		t.Errorf("got what differs:\n%s", lineDifference(out, want))
	}
}

func TestSocketsOfManyConnectionsAreForgotten(t *testing.T) {
	s := newStack(t)
	l, err := s.Listen("tcp", "127.0.0.1:7777")
	if err != nil {
		t.Fatal(err)
	}
	go func() { // until the stack is closed
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			io.Copy(c, c) //nolint:errcheck // the peer ends it
			c.Close()
		}
	}()
	p, _ := startOnStack(t, Config{Stack: s, Command: []string{"bash", "-c", "for i in {1..100}; do exec 3<>/dev/tcp/127.0.0.1/7777; echo hello >&3; read -u 3; exec 3<&-; done; read"}})
	eventually(t, "no socket is left", func() bool {
		p.s.mu.Lock()
		defer p.s.mu.Unlock()
		return len(p.s.sockets) == 0
	})
	p.Wait() //nolint:errcheck // standard input has ended
}
