//go:build amd64 || arm64

package program

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// talkCork holds back a part of a segment, which is sent when it has waited for 200 ms.
func talkCork(t *talker) {
	c, s := t.pair()
	must(0, unix.SetsockoptInt(c, unix.IPPROTO_TCP, unix.TCP_CORK, 1))
	t.write("write", c, "part")
	t.poll("sent", s, unix.POLLIN)
	t.read("read", s)
}

// talkUrgent sends urgent data by TCP, and by a Unix socket.
func talkUrgent(t *talker) {
	c, s := t.pair()
	t.did("send", unix.Send(c, []byte("x"), unix.MSG_OOB))
	t.did("sendmsg", unix.Sendmsg(c, []byte("x"), nil, nil, unix.MSG_OOB))
	t.write("write", c, "data")
	t.read("read", s)
	fds := must(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0))
	t.did("send of a Unix socket", unix.Send(fds[0], []byte("x"), unix.MSG_OOB))
}

func TestUrgentDataIsRefused(t *testing.T) {
	var lines refusals
	out, status := runOnStack(t, Config{Command: []string{os.Args[0], "converse", "urgent"}, Refused: lines.add})
	want := "send: ENOTSUP\nsendmsg: ENOTSUP\nwrite: 4\nread: \"data\"\nsend of a Unix socket: ok\n"
	if out != want || status != 0 {
		t.Errorf("got status %d and %q, want 0 and %q", status, out, want)
	}
	if len(lines.all) != 1 || !strings.Contains(lines.all[0], "MSG_OOB") {
		t.Errorf("got the lines %q, want one about MSG_OOB", lines.all)
	}
}
