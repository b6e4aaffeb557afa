package agent

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/lab/load"
)

func TestPartsAreLoadsWithoutFiles(t *testing.T) {
	for line, ok := range map[string]bool{
		"stream 127.0.0.1:1":                          true,
		"http -c 2 --body x http://127.0.0.1:1/":      true,
		"stack rr 10.0.0.1":                           true,
		"chat 127.0.0.1:1":                            true,
		"":                                            false,
		"serve .":                                     false,
		"--steer stream 127.0.0.1:1":                  false,
		"http --mix=a http://127.0.0.1:1/":            false,
		"http --mix a http://127.0.0.1:1/":            false,
		"http --expect /etc/passwd http://h:1/":       false,
		"http --ca a https://h:1/":                    false,
		"http --body @/etc/passwd http://h:1/":        false,
		"http --body=@/etc/passwd http://h:1/":        false,
		"chat --acks /etc/cron.d/a 127.0.0.1:1":       false,
		"stream \x00":                                 false,
		"stream" + strings.Repeat(" a", maxArgs):      false,
		"stream " + strings.Repeat("a", maxArgsBytes): false,
	} {
		if err := (&Share{Args: strings.Fields(line)}).check(); (err == nil) != ok {
			t.Errorf("%.80q: got error %v, want one: %v", line, err, !ok)
		}
	}
}

func TestLoadsAreSteeredOnce(t *testing.T) {
	want := []string{"http", "--histograms", "--steer", "URL"}
	if got := steered([]string{"http", "--steer", "URL"}); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheFastestExchangeMeasuresTheClock(t *testing.T) {
	// the agent is 1000 ns ahead; the second exchange takes 20 ns on the way, others 200 ns
	i := 0
	c, err := measureClock(func() (exchange, error) {
		i++
		if sent := int64(i) * 10_000; i == 2 {
			return exchange{sent: sent, received: sent + 1010, replied: sent + 1015, returned: sent + 25}, nil
		} else {
			return exchange{sent: sent, received: sent + 1010, replied: sent + 1010, returned: sent + 200}, nil
		}
	})
	if err != nil || c.Offset != 1000 || c.Bound != 10 || i != clockExchanges {
		t.Errorf("got %+v, error %v after %d exchanges; want the offset 1000 ns, the bound 10 ns after %d", c, err, i, clockExchanges)
	}
	if _, err := (exchange{sent: 0, received: 0, replied: 100, returned: 50}).clock(); err == nil {
		t.Error("an answer that took longer than its exchange: got no error, want one")
	}
}

func TestAClockMayDrift(t *testing.T) {
	before := Clock{Offset: 5000, Bound: 100}
	for moved, ok := range map[time.Duration]bool{0: true, 1_000_200: true, 1_000_201: false, -1_000_200: true, -1_000_201: false} {
		after := Clock{Offset: before.Offset + moved, Bound: 100, AtNS: int64(time.Second)}
		if err := checkMoved(before, after); (err == nil) != ok {
			t.Errorf("moved by %d ns in a second: got error %v, want one: %v", moved, err, !ok)
		}
	}
}

func TestTheAgentThatHoldsTheOthersUpIsNamed(t *testing.T) {
	with := func(name string, events ...string) *part {
		p := newPart(Agent{Name: name})
		for _, e := range events {
			p.at[e] = 1
		}
		return p
	}
	for want, s := range map[string]*Session{
		"":  {},
		"b": {parts: []*part{with("a", "connected", "sending"), with("b", "connected"), with("c", "connected", "sending", "progress")}},
		"a": {parts: []*part{with("a"), with("b")}},
	} {
		if got := s.Last(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestEventsAreJoinedWhenAllAgentsHadThem(t *testing.T) {
	a, b := newPart(Agent{Name: "a"}), newPart(Agent{Name: "b"})
	b.clock.Offset = 1000
	parts := []*part{a, b}
	for i, step := range []struct {
		part *part
		Event
		at int64 // of the joined event; 0: none
	}{
		{a, Event{Event: "connected", AtNS: 10}, 0},
		{b, Event{Event: "connected", AtNS: 1020}, 20},
		{a, Event{Event: "measuring", AtNS: 30}, 0},
		{b, Event{Event: "measuring", AtNS: 1040}, 30},
		{b, Event{Event: "measured", AtNS: 1050}, 0},
		{a, Event{Event: "measured", AtNS: 60}, 60},
	} {
		if err := step.part.take(eventMessage{Seq: step.part.seq + 1, Event: step.Event}); err != nil {
			t.Fatal(err)
		}
		if got, all := joined(parts, step.Event.Event); all != (step.at != 0) || all && got.AtNS != step.at {
			t.Errorf("step %d, %s: got %+v, %v; want it at %d", i, step.Event.Event, got, all, step.at)
		}
	}
}

func TestEventsOutOfOrderAreErrors(t *testing.T) {
	for want, events := range map[string][]eventMessage{
		"was lost":                              {{Seq: 1, Event: Event{Event: "connected"}}, {Seq: 3, Event: Event{Event: "sending"}}},
		"out of order":                          {{Seq: 1, Event: Event{Event: "sending"}}, {Seq: 2, Event: Event{Event: "connected"}}},
		"sent the event measuring out of order": {{Seq: 1, Event: Event{Event: "measuring"}}, {Seq: 2, Event: Event{Event: "measuring"}}},
		"ended early: no server":                {{Seq: 1, Event: Event{Event: eventExit}, Error: "no server"}},
	} {
		p := newPart(Agent{Name: "a"})
		var err error
		for _, e := range events {
			if err == nil {
				err = p.take(e)
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q", err, want)
		}
	}
}

// again returns whether a message that was accepted is accepted again, with the same encoding.
func again[M any, P interface {
	*M
	check() error
}](t *testing.T, data []byte) {
	m, err := parse[M, P](data)
	if err != nil {
		return
	}
	once := encode(m)
	second, err := parse[M, P](once)
	if twice := encode(second); err != nil || !bytes.Equal(once, twice) {
		t.Errorf("%q: got %s and error %v after encoding and parsing, want %s", data, twice, err, once)
	}
}

func FuzzMessages(f *testing.F) {
	for _, m := range []any{
		hello{Name: "a", Version: "v1", Cores: 2}, reply{Error: "no"}, clockReply{ReceivedNS: 1, SentNS: 2},
		request{Session: 1, Do: doStart, Args: []string{"stream", "127.0.0.1:1"}}, reply{Usage: &Usage{Method: "m", Points: []Point{{AtNS: 1, CPUNS: 2}}}},
		hello{Name: "b", Cores: 1, Machine: "m", PID: 3, Beside: "theirs"}, request{Do: doStart, Args: []string{"http", "--ca", "{files}/ca0", "u"}, Files: []File{{Name: "ca0", Data: []byte("x")}}}, request{Session: 1, Do: doMeasure, MeasureNS: int64(time.Second), AtNS: 5},
		eventMessage{Session: 1, Seq: 2, Event: Event{Event: "report", Report: encode(load.Report{})}}, eventMessage{Seq: 1, Event: Event{Event: eventExit}, Error: "why"},
	} {
		f.Add(encode(m))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		again[hello](t, data)
		again[reply](t, data)
		again[clockReply](t, data)
		again[request](t, data)
		again[eventMessage](t, data)
		if m, err := parse[request](data); err == nil && m.Do == doStart && !slices.Contains(LoadKinds, m.Args[0]) {
			t.Errorf("got the arguments %q accepted, want a load", m.Args)
		}
	})
}
