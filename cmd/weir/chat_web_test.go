package main

import (
	"bufio"
	"context"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// The page is served beside the chat, and a stop ends its connections too.
func TestChatServeEndsWebConnectionsOnAStop(t *testing.T) {
	cmd := exec.Command(binary(t), "chat", "serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--web", "127.0.0.1:0")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	lines, url := bufio.NewScanner(stderr), ""
	for url == "" && lines.Scan() {
		_, url, _ = strings.Cut(lines.Text(), "entrance=web address=")
	}
	_, url, _ = strings.Cut(url, " url=http")
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	ws, _, err := websocket.Dial(ctx, "ws"+url+"irc", &websocket.DialOptions{Subprotocols: []string{"text.ircv3.net"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ws.CloseNow() }()
	for _, line := range []string{"NICK ann", "USER ann 0 * :Ann", "JOIN #a", "PRIVMSG #a :hello", "PING :stored"} {
		if err := ws.Write(ctx, websocket.MessageText, []byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	for pong := false; !pong; {
		_, line, err := ws.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		pong = strings.HasSuffix(string(line), " :stored")
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	for err == nil {
		_, _, err = ws.Read(ctx)
	}
	if code := websocket.CloseStatus(err); code != websocket.StatusGoingAway {
		t.Errorf("the connection ends with %v, want %v", err, websocket.StatusGoingAway)
	}
	for lines.Scan() {
		t.Log(lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("weir chat serve after SIGTERM: got %v, want exit status 0", err)
	}
}
