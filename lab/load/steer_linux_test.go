package load

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
)

// heard is a line that Steer wrote.
type heard struct {
	Event  string
	AtNS   int64 `json:"at_ns"`
	Sent   int64
	Report *Report
}

// steering is a conversation with Steer.
type steering struct {
	t     *testing.T
	in    *io.PipeWriter
	lines *bufio.Scanner
	ended chan error // Steer's goroutine -> test; one result
}

func steer(t *testing.T, c Config) *steering {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	s := &steering{t: t, in: inW, lines: bufio.NewScanner(outR), ended: make(chan error, 1)}
	go func() {
		err := Steer(t.Context(), c, inR, outW)
		inR.Close()
		outW.Close()
		s.ended <- err
	}()
	return s
}

func (s *steering) say(line string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		s.t.Fatal(err)
	}
}

// hear reads the next event, and fails if it is another.
func (s *steering) hear(want string) heard {
	s.t.Helper()
	if !s.lines.Scan() {
		s.t.Fatalf("the events end, want %q: %v", want, <-s.ended)
	}
	var e heard
	if err := json.Unmarshal(s.lines.Bytes(), &e); err != nil || e.Event != want {
		s.t.Fatalf("heard %s (%v), want %q", s.lines.Bytes(), err, want)
	}
	return e
}

// end waits for silence and the result.
func (s *steering) end() error {
	s.t.Helper()
	for s.lines.Scan() {
		s.t.Errorf("heard %s, want silence", s.lines.Bytes())
	}
	s.in.Close()
	return <-s.ended
}

func TestSteering(t *testing.T) {
	var k sink
	c := small(serve(t, "127.0.0.1:0", k.handle).addr)
	s := steer(t, c)
	connected := s.hear("connected")
	sending := s.hear("sending")
	for sent := int64(0); sent < 100; {
		sent = s.hear("progress").Sent
	}
	s.say("measure 250ms")
	var e heard
	for e.Event != "measuring" {
		if !s.lines.Scan() || json.Unmarshal(s.lines.Bytes(), &e) != nil || e.Event != "progress" && e.Event != "measuring" {
			t.Fatalf("heard %s, want progress until measuring", s.lines.Bytes())
		}
	}
	measured := s.hear("measured")
	s.say("stop")
	r := *s.hear("report").Report
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	if connected.AtNS > sending.AtNS || sending.AtNS > e.AtNS || measured.AtNS-e.AtNS != 250e6 {
		t.Errorf("connected %d, sending %d, measuring %d, measured %d", connected.AtNS, sending.AtNS, e.AtNS, measured.AtNS)
	}
	if r.StartedNS != e.AtNS || r.WindowNS != 250e6 || r.Offered != 8*50 || r.WarmMessages < 100 || r.Messages+r.Owed != r.Offered {
		t.Errorf("the report is %+v", r)
	}
	if got := total(k.received(t, c.Connections)); got < (r.Messages+r.WarmMessages)*100 {
		t.Errorf("%d bytes arrived of %d messages, warm-up included", got, r.Messages+r.WarmMessages)
	}
}

// Progress counts whole messages, not the writes of about 125 bytes into which they are cut.
func TestProgressWithBitsCountsWholeMessages(t *testing.T) {
	var k sink
	c := Config{Target: serve(t, "127.0.0.1:0", k.handle).addr, Connections: 2, Bits: 1e6, Size: 1000}
	s := steer(t, c)
	s.hear("connected")
	s.hear("sending")
	sent := int64(0)
	for sent < 20 {
		sent = s.hear("progress").Sent
	}
	s.in.Close()
	for s.lines.Scan() {
		var e heard
		if err := json.Unmarshal(s.lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		sent = max(sent, e.Sent)
	}
	if err := s.end(); err != nil {
		t.Error(err)
	}
	if got := total(k.received(t, c.Connections)) / 1000; got < sent {
		t.Errorf("progress told of %d messages, and %d arrived", sent, got)
	}
}

// Short connections warm a server as any message does.
func TestProgressCountsShortConnections(t *testing.T) {
	s := steer(t, Config{Target: serve(t, "127.0.0.1:0", echo).addr, Churn: 500, Size: 100})
	s.hear("connected")
	s.hear("sending")
	for s.hear("progress").Sent < 20 {
	}
	s.say("measure 100ms")
	var e heard
	for e.Event != "measured" {
		if !s.lines.Scan() || json.Unmarshal(s.lines.Bytes(), &e) != nil {
			t.Fatalf("heard %s, want measured", s.lines.Bytes())
		}
	}
	s.say("stop")
	r := s.hear("report").Report
	if err := s.end(); err != nil || r.WarmMessages < 20 || r.Churn.Offered != 50 {
		t.Errorf("%v, the report is %+v with churn %+v, want 50 offered after 20 or more", err, r, r.Churn)
	}
}

func TestSteeringStops(t *testing.T) {
	c := small(serve(t, "127.0.0.1:0", new(sink).handle).addr)
	for name, order := range map[string]func(*steering){
		"by stop":            func(s *steering) { s.say("stop") },
		"by the input's end": func(s *steering) { s.in.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			s := steer(t, c)
			s.hear("connected")
			s.hear("sending")
			order(s)
			e := heard{}
			for s.lines.Scan() {
				e = heard{}
				if err := json.Unmarshal(s.lines.Bytes(), &e); err != nil {
					t.Fatal(err)
				}
			}
			if e.Event != "report" || !e.Report.Interrupt || e.Report.WindowNS != 0 {
				t.Errorf("the last event is %+v, want the report of no window", e)
			}
			if err := s.end(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSteeringRefusesNonsense(t *testing.T) {
	c := small(serve(t, "127.0.0.1:0", new(sink).handle).addr)
	s := steer(t, c)
	s.hear("connected")
	s.hear("sending")
	s.say("faster")
	for s.lines.Scan() {
		if !strings.Contains(s.lines.Text(), "progress") {
			t.Errorf("heard %s", s.lines.Text())
		}
	}
	if err := s.end(); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), `"faster" is unknown: say measure DURATION or stop`) {
		t.Errorf("ended with %v", err)
	}
}

func TestCommands(t *testing.T) {
	for line, want := range map[string]string{
		"measure 2s": "2s", " measure 500ms ": "500ms", "stop": "0s",
		"measure": "", "measure 0s": "", "measure -1s": "", "measure 25h": "", "measure 2": "", "stop now": "", "": "", "MEASURE 2s": "",
	} {
		cmd, err := parseCommand(line)
		if (err == nil) != (want != "") || err == nil && cmd.Measure.String() != want {
			t.Errorf("%q: %v, %v; want %q", line, cmd, err, want)
		}
	}
}

func FuzzCommand(f *testing.F) {
	f.Add("measure 2s")
	f.Add("stop")
	f.Fuzz(func(t *testing.T, line string) {
		cmd, err := parseCommand(line)
		if err != nil || cmd.Measure == 0 {
			return
		}
		if again, err := parseCommand("measure " + cmd.Measure.String()); err != nil || again != cmd {
			t.Errorf("%q is %v, written again %v, %v", line, cmd, again, err)
		}
	})
}

func TestReportsAreTheSameAfterJSON(t *testing.T) {
	s := serve(t, "127.0.0.1:0", echo)
	c := small(s.addr)
	c.Echo, c.Pattern, c.Churn = true, Together, 50
	r, err := Run(t.Context(), c, Events{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var again Report
	if err := json.Unmarshal(text, &again); err != nil || !reflect.DeepEqual(r, again) {
		t.Errorf("%v: %+v became %+v", err, r, again)
	}
}
