package chat_test

import (
	"context"
	"maps"
	"time"

	"weir/chat/client/link"
	"weir/tcpip/netsim"
)

// radio is an IRC client that cannot ask for histories: it shows what the server sends. The server
// must replay what its device has missed.
type radio struct {
	tap     tap
	signals chan any // from the link -> owner
	calls   chan func()
}

// startRadio starts a client that logs in with an account, as NAME@DEVICE, and joins the room.
func startRadio(w *netsim.World, account string, dial dialer) *radio {
	r := &radio{tap: tap{w: w, name: account}, signals: make(chan any), calls: make(chan func())}
	go r.own(w.Context(), account) // until the end of the world
	go link.Run(w.Context(), dial, func(signal any) {
		select {
		case r.signals <- signal:
		case <-w.Context().Done():
		}
	})
	return r
}

// own runs the client. It answers a PING, and sends one twice a minute. A server that is silent for
// longer is considered lost.
func (r *radio) own(ctx context.Context, account string) {
	var conn *link.Conn
	tick := time.NewTicker(30 * time.Second)
	defer tick.Stop()
	silent := 0 // ticks since a line
	for {
		select {
		case <-ctx.Done():
			return
		case signal := <-r.signals:
			silent = 0
			switch s := signal.(type) {
			case link.Up:
				conn = s.Conn
				r.tap.connected()
				conn.Send([]byte("CAP REQ :message-tags server-time\r\nPASS :" + account + ":" + password + "\r\nNICK radio\r\nUSER radio 0 * :radio\r\nCAP END\r\nJOIN " + room + "\r\n"))
			case link.Lines:
				r.receive(conn, s)
			case link.Down:
				conn = nil
				r.tap.w.Logf("%s: offline: %v", r.tap.name, s.Err)
			}
		case <-tick.C:
			if silent++; silent > 2 && conn != nil {
				conn.Close()
			} else if conn != nil {
				conn.Send([]byte("PING radio\r\n"))
			}
		case call := <-r.calls:
			call()
		}
	}
}

// receive handles lines.
func (r *radio) receive(conn *link.Conn, lines []string) {
	for _, line := range lines {
		r.tap.line(line)
		if len(line) > 5 && line[:5] == "PING " {
			conn.Send([]byte("PONG " + line[5:] + "\r\n"))
		}
	}
	conn.MarkHealthy()
}

// heard returns the texts of all messages that were received, by their ids.
func (r *radio) heard() (texts map[string]string) {
	done := make(chan struct{}) // closed by the owner
	select {
	case r.calls <- func() { defer close(done); texts = maps.Clone(r.tap.all) }:
		<-done
	case <-r.tap.w.Context().Done():
	}
	return texts
}
