package core

import (
	"strings"
	"testing"

	"weir/internal/disk/simdisk"
)

// A guest's room has no state file. If the power fails while it is being renamed, it still knows
// its former name: lines of its log are shown with its present one.
func TestARenameThatLosesPowerShowsNoFormerName(t *testing.T) {
	for n := 1; ; n++ {
		s := startServer(t, Options{})
		d := simdisk.New(uint64(n))
		s.disk, s.o.Disk = d, d.Process()
		s.run()
		op := s.user("op")
		op.send("JOIN #old", "PRIVMSG #old :hello")
		op.sync()
		d.CrashAt(n)
		op.send("RENAME #old #new")
		s.chat.untilIdle()
		if !d.Crashed() {
			return
		}
		s.chat.withLock(s.chat.StopTasks)
		s.chat.accounts.Close()
		s.chat, s.disk = nil, d.Crash()
		s.o.Disk = s.disk.Process()
		bob := s.run().user("bob")
		bob.send("JOIN #old")
		joined := strings.Fields(bob.until(" JOIN "))[2]
		if line := bob.until("hello"); !strings.Contains(line, "PRIVMSG "+joined+" ") {
			t.Errorf("a loss of power in call %d of a rename: got %q in the room %s, want it in %s", n, line, joined, joined)
		}
	}
}
