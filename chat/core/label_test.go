package core

import (
	"strings"
	"testing"

	"weir/chat/account"
)

// A command has one labeled response (labeled-response). Clients take it for the echo.
func TestAMessageHasOneLabeledResponse(t *testing.T) {
	for _, c := range []struct{ caps, command, want string }{
		{"", "PRIVMSG #a,#b,#c :hello", "ACK"},
		{" echo-message", "PRIVMSG #a,#b,#c :hello", "PRIVMSG #"},
		{"", "PRIVMSG #nowhere,#a :hello", "ACK"},
		{" echo-message", "PRIVMSG #nowhere,#a :hello", "PRIVMSG #a"},
		{" echo-message", "PRIVMSG #a,#nowhere :hello", "PRIVMSG #a"},
		{"", "PRIVMSG ben :hello", "ACK"}, // ben is away
		{" echo-message", "PRIVMSG ben :hello", "PRIVMSG ben"},
		{" echo-message", "PRIVMSG ben,#a :hello", "PRIVMSG "},
	} {
		t.Run(c.command+c.caps, func(t *testing.T) {
			s := startServer(t, Options{})
			for _, name := range []string{"ann", "ben"} {
				s.account(name, "correct horse", account.Member)
			}
			s.run()
			s.loggedIn("ben").send("AWAY :gone")
			ann := s.loggedIn("ann", strings.Fields("labeled-response batch"+c.caps)...)
			ann.send("JOIN #a,#b,#c", "@label=x "+c.command)
			var labeled []string
			for _, line := range ann.sync() {
				if strings.HasPrefix(line, "@label=x") {
					labeled = append(labeled, line)
				}
			}
			if len(labeled) != 1 || !strings.Contains(labeled[0], c.want) {
				t.Errorf("got the labeled responses %q, want one with %q", labeled, c.want)
			}
		})
	}
}
