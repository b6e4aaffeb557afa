package client

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ergochat/irc-go/ircmsg"
	"github.com/xdg-go/scram"
)

// login is a SASL exchange under way.
type login struct {
	mechanism string
	scram     *scram.ClientConversation
	text      string // of the server's message, as far as it came
	proven    bool   // SCRAM: the server knows the password's verifier
}

const (
	saslChunk     = 400       // of base64 in one AUTHENTICATE; a shorter one is the last
	maxIterations = 1_000_000 // a server must not keep us computing
	maxChallenge  = 8192
)

// logIn begins with the best mechanism that both sides have.
func (c *Client) logIn() {
	offered := strings.Split(strings.ToUpper(c.offered["sasl"]), ",")
	if offered[0] == "" {
		offered = []string{"SCRAM-SHA-256", "PLAIN", "EXTERNAL"} // the server does not say
	}
	switch {
	case c.config.External && slices.Contains(offered, "EXTERNAL"):
		c.sasl = &login{mechanism: "EXTERNAL"}
	case c.config.External:
		c.fail("the server lets nobody in by a certificate: give a password")
	case slices.Contains(offered, "SCRAM-SHA-256"):
		c.beginScram()
	case slices.Contains(offered, "PLAIN") && c.config.Plain:
		c.sasl = &login{mechanism: "PLAIN"}
	case slices.Contains(offered, "PLAIN"):
		c.fail("the server takes passwords in clear text alone, and the connection is not safe: use TLS")
	default:
		c.fail("the server has no way to log in that we have: it has " + strings.Join(offered, ", "))
	}
	if c.sasl != nil {
		c.send("AUTHENTICATE", c.sasl.mechanism)
	}
}

func (c *Client) beginScram() {
	s, err := scram.SHA256.NewClient(c.config.Account, c.config.Password, "")
	if err != nil {
		c.fail("the name or the password has characters that can't be used")
		return
	}
	if c.config.Scram != nil {
		s = s.WithNonceGenerator(c.config.Scram)
	}
	c.sasl = &login{mechanism: "SCRAM-SHA-256", scram: s.WithMinIterations(4096).NewConversation()}
}

func (c *Client) onAuthenticate(m *ircmsg.Message, _ time.Time) {
	if c.sasl == nil || len(m.Params) == 0 {
		return
	}
	part := m.Params[0]
	if part != "+" {
		c.sasl.text += part
	}
	if len(c.sasl.text) > maxChallenge {
		c.fail("the server's login exchange is too long")
		return
	}
	if len(part) == saslChunk {
		return
	}
	challenge, err := base64.StdEncoding.DecodeString(c.sasl.text)
	c.sasl.text = ""
	if err != nil {
		c.fail("the server's login exchange can't be read")
		return
	}
	c.answer(string(challenge))
}

func (c *Client) answer(challenge string) {
	if c.config.External {
		c.authenticate(c.config.Account)
		return
	}
	if c.sasl.scram == nil {
		name := c.config.Account
		c.authenticate("\x00" + name + "\x00" + c.config.Password)
		return
	}
	if iterations(challenge) > maxIterations {
		c.fail("the server wants the password hashed more often than any server needs")
		return
	}
	answer, err := c.sasl.scram.Step(challenge)
	if err != nil {
		c.fail("the login failed: " + err.Error())
		return
	}
	c.sasl.proven = c.sasl.scram.Done() && c.sasl.scram.Valid()
	c.authenticate(answer)
}

// iterations is the number that a server's first message of SCRAM asks for.
func iterations(challenge string) int {
	for attribute := range strings.SplitSeq(challenge, ",") {
		if n, ok := strings.CutPrefix(attribute, "i="); ok {
			if i, err := strconv.Atoi(n); err != nil || i < 0 {
				return maxIterations + 1
			} else {
				return i
			}
		}
	}
	return 0
}

// authenticate sends an answer in as many parts as it needs.
func (c *Client) authenticate(answer string) {
	text := base64.StdEncoding.EncodeToString([]byte(answer))
	for len(text) >= saslChunk {
		c.send("AUTHENTICATE", text[:saslChunk])
		text = text[saslChunk:]
	}
	if text == "" {
		text = "+"
	}
	c.send("AUTHENTICATE", text)
}

func (c *Client) onLoggedIn(m *ircmsg.Message, _ time.Time) {
	if len(m.Params) >= 3 {
		c.account = m.Params[2]
	}
}

func (c *Client) onLoginDone(_ *ircmsg.Message, _ time.Time) {
	if c.sasl == nil {
		return
	}
	if c.sasl.scram != nil && !c.sasl.proven {
		c.fail("the server did not prove that it knows the password: it may be another's")
		return
	}
	if c.account == "" {
		c.account, _, _ = strings.Cut(c.config.Account, "@")
	}
	c.sasl = nil
	c.endCap()
}

func (c *Client) onLoginFailed(m *ircmsg.Message, _ time.Time) {
	if c.state == Registering {
		c.fail("the login failed: " + last(m))
	}
}
