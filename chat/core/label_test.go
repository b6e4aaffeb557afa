package core

import (
	"strings"
	"testing"
)

// A command has one labeled response (labeled-response): of the echoes of a message to several
// rooms, one has the label.
func TestAMessageToSeveralTargetsHasOneLabeledResponse(t *testing.T) {
	for _, caps := range [][]string{{"labeled-response", "batch"}, {"labeled-response", "batch", "echo-message"}} {
		t.Run(strings.Join(caps, " "), func(t *testing.T) {
			inAnyOrder(t, func(t *testing.T, s *server) {
				alice := s.user("alice", caps...)
				alice.send("JOIN #a,#b,#c", "@label=x PRIVMSG #a,#b,#c :hello")
				labeled := 0
				for _, line := range alice.sync() {
					if strings.HasPrefix(line, "@label=x") {
						labeled++
					}
				}
				if labeled != 1 {
					t.Errorf("PRIVMSG to three rooms: got %d labeled responses, want 1", labeled)
				}
			})
		})
	}
}
