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

// saslExchange is a SASL exchange in progress.
type saslExchange struct {
	mechanism string
	scram     *scram.ClientConversation
	buffer    string // base64 of the server's message, received so far
	// SCRAM: the server has proven that it knows the password's verifier (RFC 5802)
	serverVerified bool
}

const (
	saslChunk     = 400       // base64 characters per AUTHENTICATE; a shorter one is the last
	maxIterations = 1_000_000 // limits the CPU time that a server can demand
	maxChallenge  = 8192
)

// startLogin starts the best mechanism that client and server support.
func (c *Client) startLogin() {
	offered := strings.Split(strings.ToUpper(c.offeredCaps["sasl"]), ",")
	if offered[0] == "" {
		offered = []string{"SCRAM-SHA-256", "PLAIN", "EXTERNAL"} // the server lists no mechanisms
	}
	switch {
	case c.config.External && slices.Contains(offered, "EXTERNAL"):
		c.saslState = &saslExchange{mechanism: "EXTERNAL"}
	case c.config.External:
		c.fail("the server does not offer SASL EXTERNAL for certificates: give a password")
	case slices.Contains(offered, "SCRAM-SHA-256"):
		c.startScram()
	case slices.Contains(offered, "PLAIN") && c.config.AllowPlain:
		c.saslState = &saslExchange{mechanism: "PLAIN"}
	case slices.Contains(offered, "PLAIN"):
		c.fail("the server offers only SASL PLAIN, and the connection is not encrypted: use TLS")
	default:
		c.fail("the server offers no supported SASL mechanism, only " + strings.Join(offered, ", "))
	}
	if c.saslState != nil {
		c.send("AUTHENTICATE", c.saslState.mechanism)
	}
}

func (c *Client) startScram() {
	s, err := scram.SHA256.NewClient(c.config.Account, c.config.Password, "")
	if err != nil {
		c.fail("the name or the password has characters that SASLprep forbids")
		return
	}
	if c.config.ScramNonce != nil {
		s = s.WithNonceGenerator(c.config.ScramNonce)
	}
	c.saslState = &saslExchange{mechanism: "SCRAM-SHA-256", scram: s.WithMinIterations(4096).NewConversation()}
}

func (c *Client) onAuthenticate(m *ircmsg.Message, _ time.Time) {
	if c.saslState == nil || len(m.Params) == 0 {
		return
	}
	part := m.Params[0]
	if part != "+" {
		c.saslState.buffer += part
	}
	if len(c.saslState.buffer) > maxChallenge {
		c.fail("the server's SASL challenge is too long")
		return
	}
	if len(part) == saslChunk {
		return
	}
	challenge, err := base64.StdEncoding.DecodeString(c.saslState.buffer)
	c.saslState.buffer = ""
	if err != nil {
		c.fail("the server's SASL challenge is not valid base64")
		return
	}
	c.answerChallenge(string(challenge))
}

func (c *Client) answerChallenge(challenge string) {
	if c.config.External {
		c.sendAuthenticate(c.config.Account)
		return
	}
	if c.saslState.scram == nil {
		name := c.config.Account
		c.sendAuthenticate("\x00" + name + "\x00" + c.config.Password)
		return
	}
	if iterations(challenge) > maxIterations {
		c.fail("the server requests more than " + strconv.Itoa(maxIterations) + " SCRAM iterations")
		return
	}
	answer, err := c.saslState.scram.Step(challenge)
	if err != nil {
		c.fail("the login failed: " + err.Error())
		return
	}
	c.saslState.serverVerified = c.saslState.scram.Done() && c.saslState.scram.Valid()
	c.sendAuthenticate(answer)
}

// iterations returns the iteration count in a server's first SCRAM message.
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

// sendAuthenticate sends a response, split into chunks.
func (c *Client) sendAuthenticate(answer string) {
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
	if c.saslState == nil {
		return
	}
	if c.saslState.scram != nil && !c.saslState.serverVerified {
		c.fail("the server did not prove that it knows the password: it may be an impostor")
		return
	}
	if c.account == "" {
		c.account, _, _ = strings.Cut(c.config.Account, "@")
	}
	c.saslState = nil
	c.sendCapEnd()
}

func (c *Client) onLoginFailed(m *ircmsg.Message, _ time.Time) {
	if c.state == Registering {
		c.fail("the login failed: " + lastParam(m))
	}
}
