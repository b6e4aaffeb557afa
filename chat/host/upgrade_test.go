package host

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/coder/websocket"

	"weir/chat/upgrade"
)

// handOver hands over to another host of this process. The result of the first Run is checked at
// the end.
func (r *running) handOver(afresh bool) (kept, closed int) {
	r.t.Helper()
	given, closed, err := r.HandOver(r.t.Context(), afresh)
	if err != nil {
		r.t.Fatal(err)
	}
	kept = len(given.Connections)
	addrs := map[string][]string{}
	h, err := Resume(*r.Config(), Events{Output: r.log, Listening: func(what string, a net.Addr) { addrs[what] = append(addrs[what], a.String()) }}, given)
	if err != nil {
		r.t.Fatal(err)
	}
	for what, all := range r.addrs {
		for i, a := range all {
			if addrs[what][i] != a {
				r.t.Errorf("the listener %s moved from %s to %s, want the same address", what, a, addrs[what][i])
			}
		}
	}
	r.Host = h
	r.run(h.Run)
	return kept, closed
}

func onLinux(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("connections are handed over on Linux only")
	}
}

// everyWayIn is a configuration with all of them. Ann comes in clear text, bob by TLS, carol by the
// page, and dave behind a proxy, from elsewhere.
func everyWayIn(t *testing.T) (r *running, ann *client, bob net.Conn, carol *websocket.Conn, dave *client) {
	t.Helper()
	r = start(t, Config{TLS: TLS{Listen: []string{"127.0.0.1:0"}, Self: true}, Web: Web{Listen: []string{"127.0.0.1:0"}},
		Metrics: Metrics{Listen: "127.0.0.1:0"}, Proxy: Proxy{Trusted: []string{"127.0.0.2"}}})
	ann = r.user("ann", "JOIN #a")
	ann.until(" 366 ")
	bob, _ = r.secure(t, "ircs")
	fmt.Fprintf(bob, "NICK bob\r\nUSER bob 0 * :bob\r\nJOIN #a\r\n")
	hears(t, bob, " 366 bob ")
	carol, _, err := websocket.Dial(t.Context(), "ws://"+r.addrs["web"][0]+"/irc", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = carol.CloseNow() })
	for _, line := range []string{"NICK carol", "USER carol 0 * :carol", "JOIN #a"} {
		if err := carol.Write(t.Context(), websocket.MessageText, []byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	hearsFrame(t, carol, " 366 carol ")
	from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	proxied, err := from.Dial("tcp", r.addrs["irc"][0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxied.Close() })
	fmt.Fprintf(proxied, "PROXY TCP4 192.0.2.7 127.0.0.1 1 2\r\nNICK dave\r\nUSER dave 0 * :dave\r\nJOIN #a\r\n")
	hears(t, proxied, " 366 dave ")
	dave = &client{t: t, conn: proxied, r: ann.r}
	return r, ann, bob, carol, dave
}

// hearsFrame reads messages until a text comes.
func hearsFrame(t *testing.T, ws *websocket.Conn, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	for {
		_, line, err := ws.Read(ctx)
		if err != nil {
			t.Fatalf("want a line with %q: %v", text, err)
		}
		if strings.Contains(string(line), text) {
			return
		}
	}
}

// Clients in clear text keep their connections, also those behind a proxy. Clients of TLS and
// WebSocket are asked to reconnect, and the others receive their QUIT.
func TestAHostIsHandedOver(t *testing.T) {
	onLinux(t)
	r, ann, bob, carol, dave := everyWayIn(t)
	if kept, closed := r.handOver(false); kept != 2 || closed != 2 {
		t.Errorf("got %d connections kept and %d closed, want 2 and 2", kept, closed)
	}
	hears(t, bob, "ERROR :Closing link (The server is being upgraded: connect again)")
	hearsFrame(t, carol, "connect again")
	for range 2 {
		if line := ann.until(" QUIT "); !strings.HasSuffix(line, "The server is being upgraded") {
			t.Errorf("ann received %q, want nothing", line)
		}
	}
	fmt.Fprintf(dave.conn, "PRIVMSG #a :here I am\r\nWHOIS dave\r\n")
	hears(t, dave.conn, "192.0.2.7")
	ann.until("here I am")
	again, _ := r.secure(t, "ircs")
	fmt.Fprintf(again, "NICK bob\r\nUSER bob 0 * :bob\r\nJOIN #a\r\n")
	hears(t, again, "here I am") // it missed nothing
	ann.until(":bob!")
}

// A state that the next process does not know is not used: all clients are asked to reconnect, and
// find the server at the same addresses.
func TestAnUnknownStateIsNotUsed(t *testing.T) {
	onLinux(t)
	r, ann, bob, carol, dave := everyWayIn(t)
	if kept, closed := r.handOver(true); kept != 0 || closed != 4 {
		t.Errorf("got %d connections kept and %d closed, want 0 and 4", kept, closed)
	}
	ann.until("connect again")
	hears(t, bob, "connect again")
	hearsFrame(t, carol, "connect again")
	hears(t, dave.conn, "connect again")
	r.user("ann", "JOIN #a").until(" 366 ")
}

// A host that is stopped while it is to be followed stops.
func TestAStoppedHostIsNotHandedOver(t *testing.T) {
	onLinux(t)
	r := start(t, Config{})
	r.user("ann")
	r.stop()
	if _, _, err := r.HandOver(t.Context(), false); err == nil {
		t.Error("HandOver of a stopped host: got nil, want an error")
	}
}

// keep runs the host in a Keeper, whose successors run the command.
func (r *running) keep(command func() (*exec.Cmd, error)) (ask chan<- os.Signal, outcome func() upgrade.Outcome) {
	r.t.Helper()
	asked := make(chan os.Signal, 1)
	k := &Keeper{Events: Events{Output: r.log}, Upgrade: asked, Command: command}
	r.run(func(ctx context.Context) error { return k.Keep(ctx, r.Host) })
	last := upgrade.Outcome{}
	return asked, func() upgrade.Outcome {
		r.t.Helper()
		waitFor(r.t, "an outcome", func() bool {
			o, err := upgrade.ReadOutcome(r.Config().Data)
			if err != nil || o.At.Equal(last.At) {
				return false
			}
			last = o
			return true
		})
		return last
	}
}

// A successor that fails after it received everything has everything taken back, and clients notice
// nothing.
func TestEverythingIsTakenBack(t *testing.T) {
	onLinux(t)
	// says that it is ready, and dies of what it is given
	late := filepath.Join(t.TempDir(), "late")
	if err := os.WriteFile(late, []byte("#!/bin/sh\nprintf '\\000\\000\\000\\032{\"Ready\":true,\"Version\":1}' >&3\nhead -c 1 <&3 >/dev/null\nexit 9\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	r := prepare(t, Config{})
	program := ""
	ask, outcome := r.keep(func() (*exec.Cmd, error) { return exec.Command(program), nil })
	ann, bob := r.user("ann", "JOIN #a"), r.user("bob")
	ann.until(" 366 ")
	bob.send("JOIN #a", "PRIVMSG #a :half")
	ann.until("half")
	for _, program = range []string{late, "/bin/false", late} {
		ask <- syscall.SIGUSR2
		if o := outcome(); o.Error == "" || o.PID != os.Getpid() {
			t.Errorf("%s: got the outcome %+v, want an error and this process", program, o)
		}
		bob.send("PRIVMSG #a :still here")
		ann.until("still here")
	}
}
