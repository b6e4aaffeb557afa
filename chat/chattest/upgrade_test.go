//go:build linux

package chattest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"weir/chat/upgrade"
	"weir/internal/freeport"
)

// upgraded is a server that is upgraded while it runs. Its program is a separate file, which is
// replaced.
type upgraded struct {
	*server
	file string    // path of the program
	cmd  *exec.Cmd // the first process
}

// runUpgradable starts a weir server that can be upgraded.
func runUpgradable(t *testing.T, p *program, env ...string) *upgraded {
	t.Helper()
	if p.command[0] != "weir" {
		t.Skip(p.name + " does not support upgrades")
	}
	p.there(t)
	addr, err := freeport.Address("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	u := &upgraded{server: &server{program: p, data: t.TempDir(), addr: addr}, file: filepath.Join(t.TempDir(), "weir")}
	u.install(t, "")
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	u.cmd = exec.Command(u.file, "chat", "serve", "--model", p.name, "--data", u.data, "--listen", addr, "--flood", "0")
	u.cmd.Env = append(os.Environ(), env...)
	u.cmd.Stdout, u.cmd.Stderr = log, log // a file, because the next process inherits it
	u.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := u.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		u.end(t)
		said, _ := os.ReadFile(log.Name())
		for _, word := range []string{"DATA RACE", "panic", "goroutine "} {
			if strings.Contains(string(said), word) {
				t.Errorf("got %q in a server's log, want none:\n%s", word, said)
			}
		}
		if t.Failed() {
			t.Logf("output of the servers:\n%s", said)
		}
	})
	u.listens(t)
	return u
}

// listens waits until the server accepts a connection, and until that connection has ended.
func (u *upgraded) listens(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(waitLimit); ; time.Sleep(2 * time.Millisecond) {
		conn, err := net.Dial("tcp", u.addr)
		if err == nil {
			conn.SetDeadline(time.Now().Add(waitLimit))
			io.WriteString(conn, "QUIT\r\n")
			_, err = io.ReadAll(conn)
			conn.Close()
		}
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the server accepted no connection within %v: %v", waitLimit, err)
		}
	}
}

// install replaces the server's program by a script, or without one by the server itself.
func (u *upgraded) install(t *testing.T, script string) {
	t.Helper()
	next := u.file + ".new"
	os.Remove(next)
	if script != "" {
		if err := os.WriteFile(next, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	} else if binary, err := weirBinary(); err != nil {
		t.Fatal(err)
	} else if err := os.Link(binary, next); err != nil {
		if err := os.Symlink(binary, next); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(next, u.file); err != nil {
		t.Fatal(err)
	}
}

// upgrade runs weir chat upgrade and returns its outcome.
func (u *upgraded) upgrade(t *testing.T) (upgrade.Outcome, error) {
	t.Helper()
	binary, err := weirBinary()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(binary, "chat", "upgrade", "--data", u.data, "--json").Output()
	var o upgrade.Outcome
	if wrong := json.Unmarshal(out, &o); wrong != nil {
		t.Errorf("weir chat upgrade --json: got %q and error %v, want one object: %v", out, err, wrong)
	}
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		err = errors.New(string(failed.Stderr))
	}
	return o, err
}

// mustUpgrade upgrades, and checks that all connections were kept and none closed.
func (u *upgraded) mustUpgrade(t *testing.T, kept int) {
	t.Helper()
	before := u.serving(t)
	o, err := u.upgrade(t)
	if err != nil || o.Kept != kept || o.Closed != 0 {
		t.Errorf("upgrade: got %d kept, %d closed, error %v; want %d kept, 0 closed", o.Kept, o.Closed, err, kept)
	}
	if now := u.serving(t); now == before || now != o.PID {
		t.Errorf("after the upgrade process %d serves, want a new one, not %d, and the one that the outcome names: %d", now, before, o.PID)
	}
}

// serving returns the process that holds the data directory.
func (u *upgraded) serving(t *testing.T) int {
	t.Helper()
	pid, err := upgrade.ServerPID(u.data)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// end stops the process that serves. The exit status of the first one must be 0.
func (u *upgraded) end(t *testing.T) {
	t.Helper()
	if pid, err := upgrade.ServerPID(u.data); err == nil {
		syscall.Kill(pid, syscall.SIGTERM)
	}
	if err := u.gone(); err != nil {
		t.Error(err)
		syscall.Kill(-u.cmd.Process.Pid, syscall.SIGKILL)
	}
	if err := u.cmd.Wait(); err != nil {
		t.Errorf("the first process: got %v, want exit status 0", err)
	}
}

const (
	upgradeClients = 200
	upgradeRooms   = 5
	upgrades       = 3
)

// Clients that send messages continuously keep their connections while the server is upgraded three
// times. They receive every message once, and all members of a room in the same order.
func TestUpgradesUnderLoadLoseNoMessage(t *testing.T) {
	for _, p := range programs() {
		t.Run(p.name, func(t *testing.T) {
			u := runUpgradable(t, p)
			all := u.talkers(t)
			var heard atomic.Int64
			stop := make(chan struct{})
			var talking sync.WaitGroup
			errs := make([]error, len(all))
			for i, c := range all {
				talking.Go(func() { errs[i] = c.talk(&heard, stop) })
			}
			for range upgrades {
				for before := heard.Load(); heard.Load() < before+5_000; {
					time.Sleep(time.Millisecond)
				}
				u.mustUpgrade(t, len(all))
			}
			close(stop)
			talking.Wait()
			for i, c := range all {
				if errs[i] != nil {
					t.Fatalf("sending or receiving during the upgrades: %v", errs[i])
				}
				if first := all[i%upgradeRooms]; c.sum != first.sum || c.count != first.count {
					t.Errorf("%s received %d messages and %s %d; want the same number in the same order", c.name, c.count, first.name, first.count)
				}
			}
			t.Logf("%d messages received", heard.Load())
		})
	}
}

// upgradeTalker is a client that sends messages during upgrades.
type upgradeTalker struct {
	*client
	room     string
	members  int
	sent     int
	last     map[string]int // last number of each member of the room
	finished int            // members that have sent their last message
	count    int            // messages received
	sum      uint64         // hash of the messages in their order
}

// talkers connects all clients and waits until all joins are delivered.
func (u *upgraded) talkers(t *testing.T) (all []*upgradeTalker) {
	t.Helper()
	for i := range upgradeClients {
		c := &upgradeTalker{client: u.client(t, fmt.Sprintf("t%d", i)), room: fmt.Sprintf("#room%d", i%upgradeRooms),
			members: upgradeClients / upgradeRooms, last: map[string]int{}}
		c.must(t, c.logIn(c.name, "", "echo-message"))
		c.join(t, c.room)
		all = append(all, c)
	}
	for _, c := range all {
		_, err := c.flush()
		c.must(t, err)
	}
	return all
}

// talk sends numbered lines, two ahead of its own echoes, until stop is closed, and then reads
// until every member has stopped.
func (c *upgradeTalker) talk(heard *atomic.Int64, stop chan struct{}) error {
	sum := fnv.New64a()
	defer func() { c.sum = sum.Sum64() }()
	over := false
	for c.finished < c.members {
		for !over && c.sent < c.last[c.name]+2 {
			c.sent++
			text := strconv.Itoa(c.sent)
			select {
			case <-stop:
				over = true
				text += " bye"
			default:
			}
			if err := c.send("PRIVMSG " + c.room + " :" + text); err != nil {
				return err
			}
		}
		line, err := c.line()
		if err != nil {
			return err
		}
		from, text, ok := strings.Cut(line, " PRIVMSG "+c.room+" :")
		if !ok {
			return fmt.Errorf("%s received %q, want a PRIVMSG", c.name, line)
		}
		fmt.Fprintln(sum, from, text)
		from = from[1:strings.IndexByte(from, '!')]
		number, bye, last := strings.Cut(text, " ")
		if n, _ := strconv.Atoi(number); n != c.last[from]+1 {
			return fmt.Errorf("%s received %q from %s after number %d, want number %d", c.name, text, from, c.last[from], c.last[from]+1)
		}
		c.last[from]++
		c.count++
		heard.Add(1)
		if last && bye == "bye" {
			c.finished++
		}
	}
	return nil
}

// A client that has sent half a line, one that has not read its pending output, and one that
// connects during the upgrade all continue to be served.
func TestUpgradesKeepSlowClients(t *testing.T) {
	for _, p := range programs() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			u := runUpgradable(t, p)
			half, talker := u.guest(t, "half"), u.guest(t, "talker")
			conn, err := (&net.Dialer{Control: smallWindow}).Dial("tcp", u.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			slow := &client{name: "slow", conn: conn, r: bufio.NewReader(conn)}
			slow.must(t, slow.logIn("slow", ""))
			for _, c := range []*client{half, talker, slow} {
				c.join(t, crashRoom)
			}
			for _, c := range []*client{half, slow} {
				_, err := c.flush()
				c.must(t, err)
			}
			const lines = 2000 // less than an outbox, more than a small receive window holds
			text := strings.Repeat("x", 350)
			for n := range lines {
				talker.must(t, talker.send(fmt.Sprintf("PRIVMSG %s :%d %s", crashRoom, n, text)))
			}
			half.must(t, half.write("PRIVMSG "+crashRoom+" :2000 ha"))
			for range 2 {
				u.mustUpgrade(t, 3)
			}
			_, err = talker.flush()
			talker.must(t, err)
			half.must(t, half.write("lf\r\n"))
			half.hearInOrder(t, lines)
			slow.hearInOrder(t, lines+1)
			_, err = half.flush()
			half.must(t, err)
			late := u.guest(t, "late")
			late.join(t, crashRoom)
		})
	}
}

// smallWindow sets a small receive buffer.
func smallWindow(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) { syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) })
}

// A program that cannot take over has no effect on clients, and a later upgrade succeeds.
func TestAFailedUpgradeChangesNothing(t *testing.T) {
	p := programs()[0]
	u := runUpgradable(t, p)
	ann, bob := u.guest(t, "ann"), u.guest(t, "bob")
	ann.join(t, crashRoom)
	bob.join(t, crashRoom)
	before := u.serving(t)
	for script, want := range map[string]string{
		"exit 1":     "exit status 1",
		"kill -9 $$": "signal: killed",
		`[ "$2" = serve ] || exit 5; echo gibberish >&3; exit 0`: "not upgraded",
		"this is no program": "exit status 127",
	} {
		u.install(t, script)
		if o, err := u.upgrade(t); err == nil || !strings.Contains(err.Error(), want) || o.PID != before {
			t.Errorf("upgrade to %q: got process %d and error %v, want %q", script, o.PID, err, want)
		}
		ann.must(t, ann.send("PRIVMSG "+crashRoom+" :still here"))
		bob.until(t, "still here")
	}
	if now := u.serving(t); now != before {
		t.Errorf("after the failed upgrades process %d serves, want %d", now, before)
	}
	u.install(t, "")
	u.mustUpgrade(t, 2)
	ann.must(t, ann.send("PRIVMSG "+crashRoom+" :and now"))
	bob.until(t, "and now")
}

// The service manager is notified when the server is ready, and of the new process after an
// upgrade.
func TestServiceManagerIsNotifiedOfUpgrades(t *testing.T) {
	name := filepath.Join(t.TempDir(), "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	manager.SetReadDeadline(time.Now().Add(waitLimit))
	u := runUpgradable(t, programs()[0], "NOTIFY_SOCKET="+name)
	heard := func(want string) {
		t.Helper()
		b := make([]byte, 100)
		if n, err := manager.Read(b); string(b[:n]) != want || err != nil {
			t.Errorf("the service manager received %q and error %v, want %q", b[:n], err, want)
		}
	}
	heard("READY=1")
	u.mustUpgrade(t, 0)
	heard(fmt.Sprintf("MAINPID=%d", u.serving(t)))
}
