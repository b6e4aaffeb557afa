package host

import (
	"strings"
	"testing"
	"time"
)

// A client that takes nothing any more is not waited for longer than a stop may take, and is no
// error.
func TestAStopWaitsForNoClientForEver(t *testing.T) {
	none := 0
	motd := strings.Repeat(strings.Repeat("x", 300)+"\n", 50)
	r := start(t, Config{Drain: Duration(200 * time.Millisecond), Limits: Limits{Flood: &none}, Server: Server{MOTD: motd}})
	slow := r.user("slow")
	slow.send(strings.Repeat("MOTD\r\n", 4000)) // more than the kernel takes
	slow.until(" 375 ")
	r.stop()
}
