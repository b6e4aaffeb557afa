package host

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"weir/chat/account"
)

// secret is what no log may hold.
const secret = "xyzzyplugh"

// whatIsSaid is the secret wherever something can be said. The test does not mind what of it
// is refused.
var whatIsSaid = []string{
	"PRIVMSG #a :" + secret, "NOTICE #a :" + secret, "@+draft/react=" + secret + " TAGMSG #a", "PRIVMSG ann :" + secret, "PRIVMSG guest :" + secret,
	"PRIVMSG unknown :" + secret, "PRIVMSG " + secret + " :hello", "PRIVMSG #" + secret + " :hello", "@label=" + secret + " PRIVMSG #a :labeled",
	"BATCH +1 draft/multiline #a", "@batch=1 PRIVMSG #a :" + secret, "@batch=1 PRIVMSG #a :more " + secret, "BATCH -1", "BATCH +2 draft/multiline #a", "@batch=2 NOTICE #b :" + secret,
	"TOPIC #a :" + secret, "AWAY :" + secret, "SETNAME :" + secret, "MODE #a +k " + secret, "MODE #a +b " + secret + "!*@*", "JOIN #b " + secret,
	"KICK #a guest :" + secret, "INVITE " + secret + " #a", "PART #b :" + secret, "REDACT #a no-1 :" + secret, "RENAME #a #" + secret, "METADATA * SET display-name :" + secret,
	"SEARCH #a :" + secret, "CHATHISTORY LATEST #a msgid=" + secret + " 5", "MARKREAD #a " + secret, "WHOIS " + secret, "WHO " + secret, "MONITOR + " + secret,
	secret + " with parameters", "privmsg", "PRIVMSG #a", ":" + secret, "@" + secret, "CAP REQ :" + secret, "CAP " + secret, "PING :" + secret,
	"OPER ann " + secret, "OPER " + secret + " x", "REGISTER * * " + secret, "REGISTER " + secret + " * x", "KLINE 5 " + secret + "!*@* :" + secret, "UNKLINE " + secret + "!*@*",
	"KILL unknown :" + secret, "AUTHENTICATE " + secret, "NICK " + secret, "PRIVMSG #a :" + secret + "\xff\xfe", "PRIVMSG #a :" + secret + "\x00", "PRIVMSG #a :" + secret + strings.Repeat("x", 9000),
	"QUIT :" + secret,
}

// logins are lines in which a client sends a password, or a wrong one.
func logins() [][]string {
	plain := func(name, password string) string {
		return base64.StdEncoding.EncodeToString([]byte(name + "\x00" + name + "\x00" + password))
	}
	sasl := []string{"CAP REQ :sasl", "NICK x", "USER x 0 * :x", "AUTHENTICATE PLAIN"}
	return [][]string{
		{"PASS ann:" + secret, "NICK ann", "USER ann 0 * :ann"},
		{"PASS " + secret + ":x", "NICK ann", "USER ann 0 * :ann"},
		{"PASS " + secret, "NICK y", "USER y 0 * :" + secret, "REGISTER * * " + secret, "QUIT"},
		append(sasl, "AUTHENTICATE "+plain("ann", secret), "QUIT"),
		append(sasl, "AUTHENTICATE "+plain(secret, "x"), "QUIT"),
		append(sasl, "AUTHENTICATE "+base64.StdEncoding.EncodeToString([]byte(secret)), "QUIT"),
		append(sasl, "AUTHENTICATE "+secret, "QUIT"),
	}
}

// talkative starts a chat of an operator ann, whose log holds everything.
func talkative(t *testing.T, format string) *running {
	t.Helper()
	data := t.TempDir()
	s, err := account.Open(data, account.Options{Iterations: 4096})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Add("ann", "an other word", account.Operator, false); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	none := 0
	return start(t, Config{Data: data, Limits: Limits{Flood: &none}, Accounts: Accounts{Registration: "open"},
		Log: Log{Format: format, Level: "debug"}, Web: Web{Listen: []string{"127.0.0.1:0"}}})
}

func TestNoTextAndNoPasswordIsInTheLog(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			r := talkative(t, format)
			r.user("guest", "JOIN #a").until(" 366 ")
			ann := r.client("PASS :ann:an other word", "CAP REQ :message-tags batch draft/multiline labeled-response echo-message draft/metadata-2 standard-replies",
				"NICK ann", "USER ann 0 * :ann", "CAP END", "JOIN #a")
			ann.until(" 366 ")
			ann.send(whatIsSaid...)
			ann.until("ERROR :")
			for _, lines := range logins() {
				c := r.client(lines...)
				c.until("ERROR :")
			}
			r.browse(t)
			r.stop()
			if !r.stored(t) {
				t.Error("got no room's log with the secret text, want it stored: otherwise the test checks nothing")
			}
			r.wellFormed(t, format)
		})
	}
}

// browse says the secret in the ways of a browser.
func (r *running) browse(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), waitLimit)
	defer stop()
	for _, path := range []string{"/" + secret, "/irc?" + secret} {
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get("http://" + r.addrs["web"][0] + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	ws, _, err := websocket.Dial(ctx, "ws://"+r.addrs["web"][0]+"/irc", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	for _, line := range []string{"NICK web", "USER web 0 * :" + secret, "JOIN #a", "PRIVMSG #a :" + secret, strings.Repeat(secret, 10_000)} {
		_ = ws.Write(ctx, websocket.MessageText, []byte(line)) // the last is too long, and the end
	}
	for err == nil {
		_, _, err = ws.Read(ctx)
	}
}

// stored says whether the secret is in a room's log, where it belongs.
func (r *running) stored(t *testing.T) (found bool) {
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(r.Config().Data, "*", "*", "*.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range segments {
		text, err := os.ReadFile(s)
		if err != nil {
			t.Fatal(err)
		}
		found = found || strings.Contains(string(text), secret)
	}
	return found
}

// wellFormed looks at every line of the log.
func (r *running) wellFormed(t *testing.T, format string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(r.log.String()), "\n")
	if len(lines) < 3 {
		t.Errorf("the server's log has %d lines, want some", len(lines))
	}
	for _, line := range lines {
		if strings.Contains(line, secret) || strings.Contains(line, base64.RawStdEncoding.EncodeToString([]byte(secret))) {
			t.Errorf("the server logged a user's text or password: got %s, want no such line", line)
		}
		var entry struct{ Time time.Time }
		if err := json.Unmarshal([]byte(line), &entry); (err == nil) != (format == "json") {
			t.Errorf("format %s: got the line %s, want it well-formed", format, line)
		}
	}
}
