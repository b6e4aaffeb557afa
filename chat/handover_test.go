package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/chat/account"
	"weir/serve"
)

// relay is a server whose clients are handed over from one service to the next within one process.
type relay struct {
	*server
	l     net.Listener
	end   context.CancelCauseFunc
	mu    sync.Mutex
	moved []serve.MovedConn
}

// startRelay runs a server that can be handed over.
func startRelay(t *testing.T, way serve.Way, o Options) *relay {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("connections are handed over on Linux only")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	r := &relay{server: startServer(t, way, o), l: l}
	if r.chat, err = Open(r.dir, o); err != nil {
		t.Fatal(err)
	}
	r.begin(way, nil)
	return r
}

// begin runs the open service.
func (r *relay) begin(way serve.Way, adopt []serve.MovedConn) {
	r.t.Helper()
	file, err := r.l.(*net.TCPListener).File()
	if err != nil {
		r.t.Fatal(err)
	}
	l, err := net.FileListener(file)
	file.Close()
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, end := context.WithCancelCause(context.Background())
	r.addr, r.runDone, r.moved = l.Addr().String(), make(chan error, 1), nil
	r.end, r.stop = end, func() { end(nil) }
	o := serve.Options{SendQueue: Outbox, Workers: 500, DrainTimeout: testTimeout, Adopt: adopt, OnMove: func(m serve.MovedConn) {
		r.mu.Lock()
		r.moved = append(r.moved, m)
		r.mu.Unlock()
	}}
	chat, runDone := r.chat, r.runDone
	go func() { runDone <- serve.Run(ctx, way, l, r.watched(chat), o) }()
}

// handOver hands over to another service under a concurrency model. Between is called for each
// connection's state while no service is open.
func (r *relay) handOver(way serve.Way, between func(state []byte) []byte) {
	r.t.Helper()
	r.freeze()
	r.goOn(way, between)
}

func (r *relay) freeze() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	if err := r.chat.Freeze(ctx); err != nil {
		r.t.Fatal(err)
	}
}

// goOn is handOver of a service that is already frozen.
func (r *relay) goOn(way serve.Way, between func(state []byte) []byte) {
	r.t.Helper()
	r.end(serve.ErrHandover)
	if err := <-r.runDone; err != nil {
		r.t.Fatalf("serve.Run that is handed over: got %v, want nil", err)
	}
	state := r.chat.HandoverState()
	lock, err := r.chat.DuplicateLock()
	if err = errors.Join(err, r.chat.Close()); err != nil {
		r.t.Fatal(err)
	}
	if _, err := Open(r.dir, r.o); err == nil {
		r.t.Fatal("Open of the data directory during the handover: got nil, want an error (it is in use)")
	}
	for i := range r.moved {
		if between != nil {
			r.moved[i].State = between(r.moved[i].State)
		}
	}
	chat, err := Resume(r.dir, r.o, Handover{Lock: lock, State: state, Connections: len(r.moved)})
	if err != nil {
		r.t.Fatal(err)
	}
	r.chat = chat
	r.begin(way, r.moved)
}

// nothing expects that a client has been sent no line.
func (c *client) nothing(when string) {
	c.t.Helper()
	if lines := c.sync(); len(lines) > 0 {
		c.t.Errorf("%s received %q %s, want nothing", c.name, lines, when)
	}
}

// answers returns the lines that a client receives for commands.
func (c *client) answers(commands ...string) []string {
	c.t.Helper()
	c.send(commands...)
	return c.sync()
}

// After a handover, clients get the same answers as before, and no line about it.
func TestAHandoverIsInvisibleToClients(t *testing.T) {
	for _, from := range testWays() {
		for _, to := range testWays() {
			t.Run(from.String()+" to "+to.String(), func(t *testing.T) { checkHandoverIsInvisible(t, from, to) })
		}
	}
}

func checkHandoverIsInvisible(t *testing.T, from, to serve.Way) {
	r := startRelay(t, from, Options{CommandsPerSecond: -1})
	r.account("carol", "correct-horse", account.Member)
	alice := r.user("alice", "multi-prefix", "echo-message", "draft/multiline", "batch", "message-tags")
	bob, carol := r.user("bob", "message-tags", "draft/metadata-2", "batch"), r.client("carol")
	carol.send("PASS carol:correct-horse", "NICK carol", "USER carol 0 * :Carol")
	carol.until(" 221 carol")
	alice.send("JOIN #room", "MODE #room +l 10", "TOPIC #room :what it is about", "AWAY :gone fishing", "MODE alice +B")
	alice.sync()
	bob.send("JOIN #room", "JOIN #other", "MONITOR + alice,absent", "METADATA * SET colour :blue", "METADATA * SUB colour", "SETNAME :Robert")
	carol.send("JOIN #room")
	carol.sync()
	alice.send("MODE #room +v bob", "INVITE bob #room", "PRIVMSG #room :before")
	// all commands are handled and all notifications received
	for _, c := range []*client{bob, carol, alice, bob, carol} {
		c.sync()
	}
	asks := map[*client][]string{
		alice: {"NAMES #room", "MODE #room", "TOPIC #room", "WHO #room", "MODE alice", "WHOIS bob"},
		bob:   {"MONITOR S", "METADATA * LIST", "METADATA * SUBS", "WHOIS alice", "WHOIS bob", "USERHOST bob carol"},
		carol: {"WHOIS carol", "MODE carol"},
	}
	before := map[*client][]string{}
	for c, commands := range asks {
		before[c] = c.answers(commands...)
	}
	raw(t, alice, "BATCH +1 draft/multiline #room\r\n@batch=1 PRIVMSG #room :long\r\nPING wai")
	raw(t, bob, "PRIVMSG #ro")
	r.handOver(to, nil)
	raw(t, bob, "om :one line\r\n")
	for _, c := range []*client{alice, carol} {
		if line := c.until("PRIVMSG"); !strings.HasSuffix(line, "PRIVMSG #room :one line") {
			t.Errorf("after the handover: %s received %q first, want bob's message, sent in two halves", c.name, line)
		}
	}
	raw(t, alice, "t\r\n")
	alice.until("PONG")
	alice.send("@batch=1 PRIVMSG #room :message", "BATCH -1")
	alice.until("BATCH -")
	bob.until(":message")
	carol.until(":message")
	for c, commands := range asks {
		if got := c.answers(commands...); !sameAnswers(got, before[c]) {
			t.Errorf("%s received after the handover\n\t%q\nwant as before\n\t%q", c.name, got, before[c])
		}
	}
	dave := r.user("dave")
	dave.send("JOIN #room", "QUIT :done")
	for _, c := range []*client{alice, bob, carol} {
		c.until(" JOIN ")
		c.until(" QUIT ")
		c.nothing("at the end")
	}
}

// raw sends bytes unchanged.
func raw(t *testing.T, c *client, text string) {
	t.Helper()
	if _, err := c.conn.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

// sameAnswers compares answers, except for batch ids and idle seconds.
func sameAnswers(a, b []string) bool {
	plain := func(lines []string) (out []string) {
		for _, line := range lines {
			switch {
			case strings.Contains(line, " 317 ") || strings.Contains(line, "BATCH "):
			case strings.Contains(line, " 353 "):
				head, names, _ := strings.Cut(line[1:], ":")
				words := strings.Fields(names)
				slices.Sort(words)
				out = append(out, head+strings.Join(words, " "))
			default:
				if _, rest, ok := strings.Cut(line, "@batch="); ok {
					_, line, _ = strings.Cut(rest, " ")
				}
				out = append(out, line)
			}
		}
		slices.Sort(out) // members and keys have no order
		return out
	}
	return slices.Equal(plain(a), plain(b))
}

// No message sent during a handover is lost, duplicated or out of order.
func TestMessagesDuringHandoversKeepTheirOrder(t *testing.T) {
	const talkers, rooms = 24, 3
	r := startRelay(t, serve.Goroutine, Options{CommandsPerSecond: -1})
	stop := make(chan struct{})
	said := make([]int, talkers) // by each talker, once it has ended
	received := make([]map[string]int, talkers)
	var talking sync.WaitGroup
	all := make([]*client, talkers)
	for i := range all {
		all[i] = r.user(fmt.Sprintf("t%d", i), "echo-message")
		all[i].send(fmt.Sprintf("JOIN #r%d", i%rooms))
		all[i].sync()
	}
	for i, c := range all {
		talking.Go(func() {
			said[i], received[i] = talkAndListen(c, i, rooms, stop)
		})
	}
	for _, way := range append(testWays(), testWays()...) {
		before := r.chat.Counts().Messages
		for r.chat.Counts().Messages < before+20 {
			time.Sleep(time.Millisecond)
		}
		r.handOver(way, nil)
	}
	close(stop)
	talking.Wait()
	for i := range all {
		for j := i % rooms; j < talkers; j += rooms {
			name := fmt.Sprintf("t%d", j)
			if n := received[i][name]; i == j && n != said[i] {
				t.Errorf("%s sent %d lines and received %d echoes, want all", name, said[i], n)
			}
		}
	}
}

// talkAndListen sends numbered lines, each after the echo of the previous one, and checks that the
// lines of each talker arrive in order.
func talkAndListen(c *client, me, rooms int, stop chan struct{}) (said int, received map[string]int) {
	received = map[string]int{}
	name := fmt.Sprintf("t%d", me)
	for {
		select {
		case <-stop:
			return said, received
		default:
		}
		said++
		c.send(fmt.Sprintf("PRIVMSG #r%d :%d", me%rooms, said))
		for received[name] < said {
			line, ok := c.line()
			if !ok {
				c.t.Errorf("%s: the connection ended after %d lines, want it kept by the handovers", name, said)
				return said, received
			}
			from, text, ok := strings.Cut(line, " PRIVMSG ")
			if !ok {
				continue
			}
			from = from[1:strings.IndexByte(from, '!')]
			var n int
			fmt.Sscanf(text[strings.IndexByte(text, ':')+1:], "%d", &n)
			if last, known := received[from]; known && n != last+1 {
				c.t.Errorf("%s received line %d of %s after line %d, want the next", name, n, from, last)
			}
			received[from] = n
		}
	}
}

// A freeze holds commands back. A thaw runs them and reports the clients that left.
func TestAFreezeIsUndone(t *testing.T) {
	for _, way := range testWays() {
		t.Run(way.String(), func(t *testing.T) {
			s := startServer(t, way, Options{}).run()
			ann, bob := s.user("ann"), s.user("bob")
			ann.send("JOIN #room")
			ann.sync()
			bob.send("JOIN #room")
			bob.sync()
			ann.until("JOIN")
			if err := s.chat.Freeze(t.Context()); err != nil {
				t.Fatal(err)
			}
			inputs, ends := s.inputs.Load(), s.ends.Load()
			ann.send("PRIVMSG #room :a", "PING b")
			bob.conn.Close()
			waitFor(t, func() bool { return s.inputs.Load() > inputs && s.ends.Load() > ends })
			s.chat.Thaw()
			ann.until("QUIT")
			ann.until("PONG")
			ended, end := context.WithCancel(context.Background())
			end()
			_ = s.chat.Freeze(ended) // it may succeed at once
			s.chat.Thaw()
			ann.nothing("after a freeze that was undone")
		})
	}
}

// A client that disconnects during a handover has quit, and a new client is admitted.
func TestConnectsAndDisconnectsDuringAHandover(t *testing.T) {
	r := startRelay(t, serve.Goroutine, Options{})
	ann, bob := r.user("ann"), r.user("bob")
	ann.send("JOIN #room")
	ann.sync()
	bob.send("JOIN #room")
	bob.sync()
	ann.until("JOIN")
	r.freeze()
	ends := r.ends.Load()
	bob.conn.Close()
	waitFor(t, func() bool { return r.ends.Load() > ends })
	// it waits in the accept queue, or is handed over before it has registered
	early := r.client("early")
	early.send("NICK early", "USER early 0 * :Early")
	r.goOn(serve.Goroutine, nil)
	ann.until(":bob!")
	early.until(" 221 early")
	bob = r.user("bob")
	bob.sync()
}

// A client in the middle of a login is asked to reconnect.
func TestALoginInProgressIsNotHandedOver(t *testing.T) {
	r := startRelay(t, serve.Goroutine, Options{})
	ann, bob := r.client("ann"), r.user("bob")
	ann.send("CAP REQ sasl", "NICK ann", "USER ann 0 * :Ann", "AUTHENTICATE SCRAM-SHA-256")
	ann.until("AUTHENTICATE +")
	r.handOver(serve.Goroutine, nil)
	ann.until("connect again")
	if line, ok := ann.line(); ok {
		t.Errorf("ann received %q after the end, want nothing", line)
	}
	bob.nothing("because of it")
}

// Messages that a client was not sent, because a delivery failed, are sent after the handover.
func TestUndeliveredMessagesAreSentAfterAHandover(t *testing.T) {
	r := startRelay(t, serve.Goroutine, Options{})
	ann := r.user("ann", "echo-message")
	ann.send("JOIN #room", "PRIVMSG #room :one", "PRIVMSG #room :two")
	ann.until(":two")
	ann.sync()
	r.handOver(serve.Goroutine, func(state []byte) []byte {
		var st map[string]any
		if err := json.Unmarshal(state, &st); err != nil {
			t.Error(err)
		}
		st["Rooms"] = map[string]int64{"#room": 0}
		changed, err := json.Marshal(st)
		if err != nil {
			t.Error(err)
		}
		return changed
	})
	ann.until(":one")
	ann.until(":two")
	ann.nothing("after what it had missed")
}

func TestAnUnknownHandoverStateIsRejected(t *testing.T) {
	r := startRelay(t, serve.Goroutine, Options{})
	r.freeze()
	good := r.chat.HandoverState()
	for _, c := range []struct{ why, state, want string }{
		{"a later version", strings.Replace(string(good), `"Version":1`, `"Version":2`, 1), "version 2"},
		{"no JSON", "gibberish", "cannot be read"},
		{"no seed", `{"Version":1}`, "seed"},
	} {
		dir := t.TempDir()
		first, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		lock, err := first.DuplicateLock()
		if err = errors.Join(err, first.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := Resume(dir, Options{}, Handover{Lock: lock, State: []byte(c.state)}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Resume of a state with %s: got %v, want an error with %q", c.why, err, c.want)
		}
		second, err := Open(dir, Options{}) // the lock is free
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Resume(t.TempDir(), Options{}, Handover{Lock: mustLock(t, second), State: good}); err == nil || !strings.Contains(err.Error(), "handed over") {
			t.Errorf("Resume with another directory: got %v, want an error", err)
		}
		if err := second.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func mustLock(t *testing.T, s *Service) *os.File {
	t.Helper()
	lock, err := s.DuplicateLock()
	if err != nil {
		t.Fatal(err)
	}
	return lock
}
