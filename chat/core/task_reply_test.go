package core

import (
	"strings"
	"testing"
)

// A room that was renamed delivers the messages that have waited. The client that renamed it
// receives the new name before them.
func TestTheRepliesOfATaskPrecedeWhatFollowsFromIt(t *testing.T) {
	s := startServer(t, Options{}).run()
	op, bob := s.user("op", "draft/channel-rename"), s.user("bob", "draft/channel-rename")
	op.send("JOIN #old")
	op.sync()
	bob.send("JOIN #old")
	bob.sync()
	op.send("RENAME #old #new")
	s.chat.stepUntil(t, "the room is being renamed", func() bool { return s.chat.rooms["#old"].renaming })
	bob.send("PRIVMSG #old :meanwhile")
	bob.step()
	s.chat.untilIdle()
	text := string(op.out)
	renamed, said := strings.Index(text, "RENAME #old #new"), strings.Index(text, "PRIVMSG #new :meanwhile")
	if renamed < 0 || said < renamed {
		t.Errorf("a message during a renaming: got\n%s\nwant the RENAME, and then the message", text)
	}
}
