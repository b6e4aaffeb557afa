package host

import (
	"fmt"
	"net"
	"testing"
	"time"
)

// A browser that never ends its request is not waited for longer than a stop may take, and is no error.
func TestAStopWaitsForNoRequestForEver(t *testing.T) {
	r := start(t, Config{Drain: Duration(200 * time.Millisecond), Web: Web{Listen: []string{"127.0.0.1:0"}}})
	conn, err := net.Dial("tcp", r.addrs["web"][0])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST /irc HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nslow")
	r.user("ann")
	r.stop() // within the test's time, and without an error
}

// A client that reads nothing is not waited for either.
func TestAStopWaitsForNoClientForEver(t *testing.T) {
	none := 0
	r := start(t, Config{Drain: Duration(200 * time.Millisecond), Limits: Limits{Flood: &none}})
	slow := r.user("slow", "JOIN #a")
	for range 200 {
		slow.send("NAMES #a", "MODE #a", "LUSERS", "MOTD", "VERSION")
	}
	r.stop()
}
