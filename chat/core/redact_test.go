package core

import (
	"errors"
	"strings"
	"testing"

	"weir/chat/account"
)

// The text is deleted from the disk: clients must remove it from their screens, and the requester
// must not be sent an error.
func TestARedactionIsSentEvenIfItsLogLineIsRefused(t *testing.T) {
	s := startServer(t, Options{})
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
	s.chat.withLock(func() {
		r = s.chat.rooms["#r"]
		r.renaming = true // posts wait
	})
	ann.send("@label=x REDACT #r " + id + " :oops")
	s.chat.waitFor(func() bool { return len(r.pending) > 0 })
	s.chat.withLock(func() {
		posts := r.pending
		r.pending = nil
		r.renaming = false
		r.reportRefused(posts, errors.New("the disk is failing"))
		r.finishPosts(posts)
	})
	want := ":ann!ann@ann.account REDACT #r " + id + " :oops"
	if line := ann.until("label=x"); !strings.HasSuffix(line, want) {
		t.Errorf("REDACT whose log line is refused: ann received %q, want %q", line, want)
	}
	if line := bob.until("REDACT"); !strings.HasSuffix(line, want) {
		t.Errorf("REDACT whose log line is refused: bob received %q, want %q", line, want)
	}
	for _, line := range carl.sync() {
		t.Errorf("carl, without message-redaction, received %q, want nothing", line)
	}
	dora := s.user("dora")
	dora.send("JOIN #r")
	for line := dora.next(); !strings.Contains(line, " 366 "); line = dora.next() {
		if strings.Contains(line, "what is redacted") {
			t.Errorf("dora, who joins later, received %q, want no redacted text", line)
		}
	}
}
