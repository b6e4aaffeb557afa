package chat

import (
	"errors"
	"strings"
	"testing"

	"weir/chat/account"
	"weir/serve"
)

// The text is gone from the disk: it must not stay on screens, and the asker must not be told that
// nothing has changed.
func TestARedactionThatTheLogHasNoLineOfIsToldNevertheless(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{})
	s.account("ann", "correct horse", account.Member)
	s.run()
	ann := s.loggedIn("ann", "draft/message-redaction", "message-tags", "server-time", "labeled-response", "batch", "echo-message")
	bob, carl := s.user("bob", "draft/message-redaction", "message-tags"), s.user("carl", "message-tags")
	for _, c := range []*client{ann, bob, carl} {
		c.send("JOIN #r")
		c.until(" 366 ")
	}
	ann.send("PRIVMSG #r :what is redacted")
	_, id, _ := strings.Cut(ann.until("what is redacted"), "msgid=")
	id, _, _ = strings.Cut(strings.ReplaceAll(id, " ", ";"), ";")
	carl.until("what is redacted")
	var r *room
	s.chat.locked(func() {
		r = s.chat.rooms["#r"]
		r.moving = true // what is said waits
	})
	ann.send("@label=x REDACT #r " + id + " :oops")
	var posts []post
	for len(posts) == 0 {
		s.chat.locked(func() { posts, r.pending = r.pending, nil })
	}
	s.chat.locked(func() { r.moving = false })
	r.refuse(posts, errors.New("the disk is failing"))
	r.feed.settle(posts)
	want := ":ann!ann@ann.account REDACT #r " + id + " :oops"
	if line := ann.until("label=x"); !strings.HasSuffix(line, want) {
		t.Errorf("ann is told %q, want %q", line, want)
	}
	if line := bob.until("REDACT"); !strings.HasSuffix(line, want) {
		t.Errorf("bob is told %q, want %q", line, want)
	}
	for _, line := range carl.settled() {
		t.Errorf("carl, who does not know it, is told %q", line)
	}
	dora := s.user("dora")
	dora.send("JOIN #r")
	for line := dora.next(); !strings.Contains(line, " 366 "); line = dora.next() {
		if strings.Contains(line, "what is redacted") {
			t.Errorf("dora, who comes later, is told %q", line)
		}
	}
}
