package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// impostor is a program with the token that poses as an agent. It answers clock probes and
// requests, and starts no load.
type impostor struct {
	t      *testing.T
	conn   *nats.Conn
	name   string
	starts chan request  // requests to start a load
	ending string        // the answer to the request to end a load; empty: done
	ended  time.Duration // from the start of a window to the end that play says
}

func newImpostor(t *testing.T, c *Coordinator, name string, ending ...string) *impostor {
	t.Helper()
	closed := make(chan struct{})
	conn, err := connect(t.Context(), &ServeConfig{URL: c.URL(), Fingerprint: c.Fingerprint(), Token: c.Token(), Name: name, connection: name + " impostor"}, func() { close(closed) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); <-closed })
	i := &impostor{t: t, conn: conn, name: name, ending: strings.Join(ending, ""), starts: make(chan request, 1)}
	i.subscribe(clockSubject(name), func(m *nats.Msg) { m.Respond(encode(clockReply{ReceivedNS: now(), SentNS: now()})) })
	i.subscribe(requestSubject(name), func(m *nats.Msg) {
		if r, err := parse[request](m.Data); err == nil && r.Do == doStart {
			i.starts <- r
		}
		answer := reply{}
		if strings.Contains(string(m.Data), `"do":"end"`) {
			answer.Error = i.ending
		}
		m.Respond(encode(answer))
	})
	return i
}

func (i *impostor) subscribe(subject string, answer nats.MsgHandler) {
	i.t.Helper()
	if _, err := i.conn.Subscribe(subject, answer); err != nil {
		i.t.Fatal(err)
	}
}

// announce returns the coordinator's answer to an announcement.
func (i *impostor) announce(text string) string {
	i.t.Helper()
	m, err := i.conn.Request(announceSubject, []byte(text), eventTimeout)
	if err != nil {
		i.t.Fatal(err)
	}
	var answer reply
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		i.t.Fatal(err)
	}
	return answer.Error
}

// play sends the events of a load with this report, as if the window had started at the agreed
// time.
func (i *impostor) play(s *Session, r request, report string) {
	for seq, name := range []string{"connected", "sending", "measuring", "measured", "report", eventExit} {
		s.mu.Lock()
		at := max(1, s.agreed)
		s.mu.Unlock()
		if name == "measured" {
			at += int64(i.ended)
		}
		m := eventMessage{Session: r.Session, Seq: int64(seq + 1), Event: Event{Event: name, AtNS: at}}
		if name == "report" {
			m.Event.Report = json.RawMessage(report)
		}
		i.conn.Publish(eventSubject(i.name), encode(m))
		if name == "sending" {
			mustAwait(i.t, s, "sending")
			mustSend(i.t, s, "measure 1s")
		}
	}
}

func TestHostileAnnouncementsAreRefused(t *testing.T) {
	c := listen(t, ListenConfig{})
	i := newImpostor(t, c, "evil")
	for want, text := range map[string]string{
		"it has 1000000000 cores: want 1 to 65536": `{"name":"evil","version":"v0-test","connection":"evil impostor","cores":1000000000}`,
		"it has -1 cores":                          `{"name":"evil","version":"v0-test","connection":"evil impostor","cores":-1}`,
		"cannot unmarshal":                         `{"name":"evil","version":"v0-test","connection":"evil impostor","cores":1e99}`,
		"no valid JSON":                            `{"name":`,
		"the name":                                 `{"name":"evil.>","version":"v0-test","connection":"evil impostor","cores":1}`,
		"the version":                              `{"name":"evil","version":"` + strings.Repeat("v", maxVersion+1) + `","cores":1}`,
		"the machine":                              `{"name":"evil","version":"v0-test","connection":"evil impostor","cores":1,"pid":-1}`,
		"the connection of":                        `{"name":"evil","version":"v0-test","connection":"","cores":1}`,
		"the connection":                           `{"name":"evil","version":"v0-test","connection":"other 1","cores":1}`,
		"the version of":                           `{"name":"evil","version":"\u001b[2J","connection":"evil impostor","cores":1}`,
		"is beside has":                            `{"name":"evil","version":"v0-test","connection":"evil impostor","cores":1,"beside":"\u202e"}`,
		"the subject that":                         `{"name":"evil","version":"v0-test","connection":"evil impostor","cores":1,"beside":"` + strings.Repeat("v", maxSubject+1) + `"}`,
	} {
		if got := i.announce(text); !strings.Contains(got, want) {
			t.Errorf("%.60s: got the answer %q, want %q", text, got, want)
		}
	}
	if s := c.State(); len(s.Agents) != 0 {
		t.Errorf("got the agents %v, want none", s.Agents)
	}
}

// connectEvil returns a coordinator, and an impostor that it takes for the agent "evil".
func connectEvil(t *testing.T) (*Coordinator, *impostor) {
	t.Helper()
	c := listen(t, ListenConfig{})
	i := newImpostor(t, c, "evil")
	if why := i.announce(`{"name":"evil","version":"v0-test","connection":"evil impostor","cores":1}`); why != "" {
		t.Fatal(why)
	}
	return c, i
}

// TestHostileReportsAreDisturbances: the measurement fails with a reason that names the agent, and
// the coordinator goes on.
func TestHostileReportsAreDisturbances(t *testing.T) {
	c, i := connectEvil(t)
	kinds, _ := json.Marshal(map[string]any{"details": []string{strings.Repeat("a", 2000)}})
	for want, report := range map[string]string{
		"cannot unmarshal":          `{"messages":"many"}`,
		"number into":               `7`,
		"it has the count -1":       `{"messages":-1}`,
		"count 9223372036854775807": `{"bytes":9223372036854775807}`,
		"an error text":             string(kinds),
		"its histogram of the":      `{"latency_us":{"p50":1},"histograms":{"latency":"HISTFAAA"}}`,
		"has no histogram":          `{"latency_us":{"p50":1}}`,
	} {
		s := start(t, c, Load{Shares: []Share{{Args: []string{"stream", "127.0.0.1:1"}}}})
		i.play(s, <-i.starts, report)
		wantFailure(t, s, want, `"evil" sent an invalid report`)
		if _, ok := errors.AsType[*Disturbance](s.Err()); !ok {
			t.Errorf("got the error %v, want a disturbance", s.Err())
		}
		if err := s.Close(); err != nil {
			t.Errorf("closing: got error %v, want none", err)
		}
	}
}

// TestOversizedMessagesEndTheirSender: the server closes the connection, and the agent falls out.
func TestOversizedMessagesEndTheirSender(t *testing.T) {
	c, i := connectEvil(t)
	s := start(t, c, Load{Shares: []Share{{Args: []string{"stream", "127.0.0.1:1"}}}})
	<-i.starts
	if err := i.conn.Publish(eventSubject("evil"), make([]byte, maxMessage+1)); !errors.Is(err, nats.ErrMaxPayload) {
		t.Errorf("got error %v from the client, want that the message is too large", err)
	}
	i.conn.Publish(eventSubject("evil"), encode(eventMessage{Session: 1, Seq: 1, Event: Event{Event: "report", Report: json.RawMessage(`"` + strings.Repeat("a", maxMessage-200) + `"`)}}))
	wantFailure(t, s, "ended without a window")
	if len(c.State().Agents) > 1 {
		t.Error("got more than one agent")
	}
}

func TestAnotherAgentWithTheSameSubjectIsRefused(t *testing.T) {
	c := listen(t, ListenConfig{})
	for n, name := range []string{"first", "second"} {
		i := newImpostor(t, c, name)
		got := i.announce(`{"name":"` + name + `","version":"v0-test","connection":"` + name + ` impostor","cores":1,"beside":"theirs"}`)
		if want := `agent "first" is beside the server theirs already`; n == 1 && got != want || n == 0 && got != "" {
			t.Errorf("%s: got the answer %q, want %q for the second", name, got, want)
		}
	}
	if s := c.State(); len(s.Beside) != 1 || len(s.Agents) != 0 {
		t.Errorf("got %+v, want one agent beside a server", s)
	}
}

// TestAnAddressThatCannotBeListenedAtIsAnErrorAtOnce: the NATS server alone says so after 10 s, and
// not why.
func TestAnAddressThatCannotBeListenedAtIsAnErrorAtOnce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for address, want := range map[string]string{l.Addr().String(): "address already in use", "192.0.2.77:0": "cannot assign requested address"} {
		if err := tryListen(address); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", address, err, want)
		}
	}
}

// TestAnAgentCannotCloseAnotherConnection: one that falls out is disconnected by the name that it
// announced, and the coordinator's own connection has none.
func TestAnAgentCannotCloseAnotherConnection(t *testing.T) {
	c := listen(t, ListenConfig{})
	i := newImpostor(t, c, "evil")
	for _, connection := range []string{"", "good 1"} {
		if why := i.announce(fmt.Sprintf(`{"name":"evil","version":"v0-test","connection":%q,"cores":1}`, connection)); why == "" {
			c.loseNamed("evil", errors.New("does not answer"))
		}
	}
	if !c.conn.IsConnected() {
		t.Error("got a coordinator without its connection, want it connected")
	}
	if why := i.announce(`{"name":"evil","version":"v0-test","connection":"evil impostor","cores":1}`); why != "" {
		t.Errorf("the right connection: got the answer %q, want none", why)
	}
}

// TestStrangersLeaveRoomForAgents: they connect without the token, and say nothing.
func TestStrangersLeaveRoomForAgents(t *testing.T) {
	c := listen(t, ListenConfig{})
	for range 2 * MaxAgents {
		conn, err := net.Dial("tcp", strings.TrimPrefix(c.URL(), "tls://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	serveAgent(t, c, "good")
	waitFor(t, c, 1)
}

func TestAnAgentWithoutACoordinatorSaysWhy(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	err = Serve(t.Context(), ServeConfig{URL: "tls://" + l.Addr().String(), Fingerprint: fingerprintPrefix + strings.Repeat("0", 64), Token: "t", Name: "a", Load: []string{"none"}})
	if err == nil || !strings.Contains(err.Error(), "connection refused: start this agent while the run waits") {
		t.Errorf("got error %v, want the reason and what to do", err)
	}
}

// TestAWindowOfAnotherLengthIsADisturbance: figures of it would be taken for those of the agreed
// one.
func TestAWindowOfAnotherLengthIsADisturbance(t *testing.T) {
	c, i := connectEvil(t)
	for want, play := range map[string]struct {
		ended  time.Duration // after the start
		report string
	}{
		"had a window of 1h0m0s, and 1s were agreed": {time.Hour, `{}`},
		"had a window of -10s, and 1s were agreed":   {-10 * time.Second, `{}`},
		"had a window of 2h0m0s, and 1s were agreed": {0, `{"window_ns":7200000000000}`},
	} {
		s := start(t, c, Load{Shares: []Share{{Args: []string{"stream", "127.0.0.1:1"}}}})
		i.ended = play.ended
		i.play(s, <-i.starts, play.report)
		wantFailure(t, s, want, `agent report wrong: "evil"`)
		if err := s.Close(); err != nil {
			t.Errorf("closing: got error %v, want none", err)
		}
	}
}

// TestAnAgentThatCannotEndItsLoadFallsOut: the load would disturb the next trial. The run goes on.
func TestAnAgentThatCannotEndItsLoadFallsOut(t *testing.T) {
	c := listen(t, ListenConfig{})
	i := newImpostor(t, c, "evil", "it does not end")
	if why := i.announce(`{"name":"evil","version":"v0-test","connection":"evil impostor","cores":1}`); why != "" {
		t.Fatal(why)
	}
	s := start(t, c, Load{Shares: []Share{{Args: []string{"stream", "127.0.0.1:1"}}}})
	if err := s.Close(); err != nil {
		t.Errorf("closing: got error %v, want none", err)
	}
	if state := c.State(); len(state.Agents) != 0 {
		t.Errorf("got the agents %v, want none", state.Agents)
	}
}

// TestTextsOfAgentsDoNotControlTheTerminal: they are in errors, which are printed.
func TestTextsOfAgentsDoNotControlTheTerminal(t *testing.T) {
	c, i := connectEvil(t)
	s := start(t, c, Load{Shares: []Share{{Args: []string{"stream", "127.0.0.1:1"}}}})
	r := <-i.starts
	i.conn.Publish(eventSubject("evil"), encode(eventMessage{Session: r.Session, Seq: 1, Event: Event{Event: eventExit}, Error: "\x1b[2J\nweir: all is well"}))
	wantFailure(t, s, "\ufffd[2J\ufffdweir: all is well")
}

func TestStrangersAreRefused(t *testing.T) {
	c, other := listen(t, ListenConfig{}), listen(t, ListenConfig{})
	serveAgent(t, c, "a")
	waitFor(t, c, 1)
	for want, change := range map[string]func(*ServeConfig){
		"rejects the token":               func(s *ServeConfig) { s.Token = other.Token() },
		"another fingerprint":             func(s *ServeConfig) { s.Fingerprint = other.Fingerprint() },
		"the fingerprint":                 func(s *ServeConfig) { s.Fingerprint = "sha256:00" },
		"there is an agent \"a\" already": func(s *ServeConfig) { s.Name = "a" },
		"must be tls://HOST:PORT":         func(s *ServeConfig) { s.URL = strings.Replace(s.URL, "//", "//user:secret@", 1) },
		"the name":                        func(s *ServeConfig) { s.Name = "a.>" },
		"the token is missing":            func(s *ServeConfig) { s.Token = "" },
	} {
		err := <-serveAgent(t, c, "stranger", change)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q", err, want)
		}
		for _, secret := range []string{c.Token(), other.Token(), "user:secret"} {
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("the error %v holds a secret", err)
			}
		}
	}
	if all := waitFor(t, c, 1); len(all) != 1 {
		t.Errorf("got the agents %v, want a alone", all)
	}
}
