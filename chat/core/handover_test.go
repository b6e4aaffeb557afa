package core

import (
	"bytes"
	"testing"
	"time"
)

// handOver hands over to another core, as two processes do, with all connections.
func (s *server) handOver() {
	s.t.Helper()
	s.chat.withLock(s.chat.Freeze)
	s.chat.waitFor(func() bool { return !s.chat.HasUnfinishedTasks() })
	var state []byte
	s.chat.withLock(func() { state = s.chat.EncodeState() })
	before := s.chat.conns
	moved := map[*conn][]byte{}
	for _, c := range before {
		s.chat.withLock(func() {
			st, output, ok := c.session.Move()
			if c.out = append(c.out, output...); ok {
				moved[c] = st
			}
		})
	}
	s.chat.conns = nil
	s.halt()
	s.run()
	st, err := ReadState(state)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.chat.runTask(func(t *Task) error { return s.chat.Restore(t, st) }); err != nil {
		s.t.Fatal(err)
	}
	s.chat.withLock(func() { s.chat.AwaitAdoptions(len(moved)) })
	for _, c := range before {
		if state, ok := moved[c]; ok {
			s.chat.adopt(c, state)
		}
	}
}

// The rooms that an account or a network has opened count for it after a handover too.
func TestTheOpenerOfARoomIsHandedOver(t *testing.T) {
	r := startServer(t, Options{}).run()
	ann := r.user("ann")
	ann.send("JOIN #a,#b")
	ann.sync()
	r.chat.withLock(func() { r.chat.rooms["#a"].opener = "@192.0.2.1/32" })
	r.handOver()
	r.chat.withLock(func() {
		for name, want := range map[string]string{"#a": "@192.0.2.1/32", "#b": ""} {
			if room := r.chat.rooms[name]; room == nil || room.opener != want {
				t.Errorf("after the handover: got %v as the opener of %s, want %q", room, name, want)
			}
		}
	})
}

// Limits of password guesses and tokens for uploads survive a handover.
func TestLimitsAndTokensAreHandedOver(t *testing.T) {
	r := startServer(t, Options{}).run()
	later := epoch.Add(time.Hour)
	r.chat.withLock(func() { r.chat.guesses["ann"] = later })
	given := token{hash: [32]byte{1, 2, 3}, account: "ann", expiresAt: later}
	r.chat.uploadTokens = []token{given}
	first := r.chat.cloakSeed
	r.handOver()
	if got := r.chat.guesses["ann"]; !got.Equal(later) {
		t.Errorf("the limit of ann's failed logins ends at %v after the handover, want %v", got, later)
	}
	tokens := r.chat.uploadTokens
	if len(tokens) != 1 || tokens[0].hash != given.hash || tokens[0].account != "ann" || !tokens[0].expiresAt.Equal(later) {
		t.Errorf("got tokens %v, want the one from before the handover", tokens)
	}
	if r.chat.cloakSeed != first {
		t.Error("the seed of cloaks changed in the handover: got another one, want the same")
	}
}

func FuzzState(f *testing.F) {
	f.Add(mustMarshal(serviceState{Version: HandoverVersion, Seed: bytes.Repeat([]byte{1}, seedSize), Users: []userState{{Nick: "a", Rooms: map[string]string{"#r": "o"}}}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		st, err := ReadState(data)
		if err != nil {
			return
		}
		again, err := ReadState(mustMarshal(st))
		if err != nil || !bytes.Equal(mustMarshal(again), mustMarshal(st)) {
			t.Errorf("encoding, decoding and encoding a state: got %s and error %v, want the same bytes as at first: %s", mustMarshal(again), err, mustMarshal(st))
		}
	})
}
