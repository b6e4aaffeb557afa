package h2

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"weir/lab/workload/http/httpload/response"
)

// log notes events.
type log struct{ strings.Builder }

func (l *log) Head(i int, h response.Head, size int) {
	fmt.Fprintf(l, "head %d %+v %d\n", i, h, size)
}
func (l *log) Data(i int, piece []byte) { fmt.Fprintf(l, "data %d %q\n", i, piece) }
func (l *log) End(i int, t Trailer) {
	fmt.Fprintf(l, "end %d%s\n", i, strings.TrimRight(" "+t.GRPCStatus+" "+t.GRPCMessage, " "))
}
func (l *log) Failed(i int, err error)   { fmt.Fprintf(l, "failed %d %v\n", i, err) }
func request(path, body string) *Request { return &Request{Fields: list(path), Body: []byte(body)} }

func list(path string) []hpack.HeaderField {
	return []hpack.HeaderField{{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "http"}, {Name: ":authority", Value: "a"}, {Name: ":path", Value: path}}
}

// server writes frames of a server.
type server struct {
	bytes.Buffer
	*http2.Framer
	encoder *hpack.Encoder
	block   bytes.Buffer
}

func newServer() *server {
	s := &server{}
	s.Framer = http2.NewFramer(&s.Buffer, nil)
	s.encoder = hpack.NewEncoder(&s.block)
	return s
}

func (s *server) head(id uint32, ends bool, status string) {
	s.block.Reset()
	s.encoder.WriteField(hpack.HeaderField{Name: ":status", Value: status})                                                  //nolint:errcheck // into memory
	s.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: s.block.Bytes(), EndStream: ends, EndHeaders: true}) //nolint:errcheck // into memory
}

// sent returns the frames in a connection's output.
func sent(t *testing.T, c *Conn) (frames []string) {
	t.Helper()
	out := bytes.TrimPrefix(bytes.Clone(c.Output()), []byte(http2.ClientPreface))
	c.Sent(len(c.Output()))
	f := http2.NewFramer(nil, bytes.NewReader(out))
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return frames
		}
		text := fmt.Sprintf("%v %d", frame.Header().Type, frame.Header().StreamID)
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			text += " " + f.PseudoValue("path")
		case *http2.DataFrame:
			text += fmt.Sprintf(" %d %v", len(f.Data()), f.StreamEnded())
		case *http2.SettingsFrame:
			text += fmt.Sprintf(" %v", f.IsAck())
		case *http2.PingFrame:
			text += fmt.Sprintf(" %v %d", f.IsAck(), f.Data[0])
		}
		frames = append(frames, text)
	}
}

func want(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// TestBodiesObeyTheWindows follows RFC 9113, section 6.9: a body is sent as far as the windows of
// the stream and of the connection allow, and goes on when they open.
func TestBodiesObeyTheWindows(t *testing.T) {
	events, s := &log{}, newServer()
	c := New(events)
	want(t, "a new connection", sent(t, c), []string{"SETTINGS 0 false", "WINDOW_UPDATE 0"})
	s.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10}, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 7}) //nolint:errcheck // into memory
	if err := c.Feed(s.Next(s.Len())); err != nil || !c.Ready() || c.MaxStreams() != 7 {
		t.Fatalf("SETTINGS: got error %v, ready %v, %d streams; want none, ready, 7", err, c.Ready(), c.MaxStreams())
	}
	want(t, "SETTINGS", sent(t, c), []string{"SETTINGS 0 true"})
	c.Open(0, request("/0", strings.Repeat("x", 12)))
	c.Open(1, request("/1", strings.Repeat("y", 5)))
	want(t, "two requests", sent(t, c), []string{"HEADERS 1 /0", "DATA 1 10 false", "HEADERS 3 /1", "DATA 3 5 true"})
	s.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 5}) //nolint:errcheck // into memory
	s.WriteWindowUpdate(1, 6)                                                  //nolint:errcheck // into memory
	if err := c.Feed(s.Next(s.Len())); err != nil {
		t.Fatal(err)
	}
	want(t, "a window of one byte", sent(t, c), []string{"SETTINGS 0 true", "DATA 1 1 false"})
	s.WritePing(false, [8]byte{9}) //nolint:errcheck // into memory
	s.WriteWindowUpdate(1, 100)    //nolint:errcheck // into memory
	s.head(3, true, "204")
	s.head(1, false, "200")
	s.WriteData(1, true, []byte("ok")) //nolint:errcheck // into memory
	if err := c.Feed(s.Next(s.Len())); err != nil || c.Active() != 0 || !c.CanOpen() {
		t.Errorf("got error %v, %d streams, another can be opened %v; want none, 0 and true", err, c.Active(), c.CanOpen())
	}
	want(t, "PING and an open window", sent(t, c), []string{"PING 0 true 9", "DATA 1 1 true"})
	want(t, "events", events.String(), "head 1 {Status:204 Minor:1 Length:-1 Chunked:false Coding:0 Close:false} 1\nend 1\n"+
		"head 0 {Status:200 Minor:1 Length:-1 Chunked:false Coding:0 Close:false} 1\ndata 0 \"ok\"\nend 0\n")
}

// TestLongHeadsAreContinued checks fields beyond the size of a frame.
func TestLongHeadsAreContinued(t *testing.T) {
	c := New(&log{})
	sent(t, c)
	path := "/" + strings.Repeat("~", 40_000)
	c.Open(0, request(path, ""))
	want(t, "a long path", sent(t, c), []string{"HEADERS 1 " + path})
}

// TestReceiveWindowsAreReopened checks that the server's window never closes.
func TestReceiveWindowsAreReopened(t *testing.T) {
	c, s := New(&log{}), newServer()
	c.Open(0, request("/", ""))
	sent(t, c)
	s.WriteSettings() //nolint:errcheck // into memory
	s.head(1, false, "200")
	s.WriteData(1, false, make([]byte, maxFrame)) //nolint:errcheck // into memory
	text := bytes.Clone(s.Next(s.Len()))
	c.events = quiet{}
	if err := c.Feed(text); err != nil {
		t.Fatal(err)
	}
	sent(t, c)
	data := text[len(text)-maxFrame-frameHead:]
	for range receiveWindow/2/maxFrame - 1 {
		if err := c.Feed(data); err != nil {
			t.Fatal(err)
		}
	}
	want(t, "half of the windows", sent(t, c), []string{"WINDOW_UPDATE 0", "WINDOW_UPDATE 1"})
}

type quiet struct{}

func (quiet) Head(int, response.Head, int) {}
func (quiet) Data(int, []byte)             {}
func (quiet) End(int, Trailer)             {}
func (quiet) Failed(int, error)            {}

// FuzzFeed checks that events and output do not depend on how the input is split, and that no
// input breaks the connection's own frames.
func FuzzFeed(f *testing.F) {
	s := newServer()
	s.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1}) //nolint:errcheck // into memory
	s.head(1, false, "200")
	s.WriteDataPadded(1, true, []byte("ok"), make([]byte, 3)) //nolint:errcheck // into memory
	s.WritePing(false, [8]byte{9})                            //nolint:errcheck // into memory
	s.WriteRSTStream(3, http2.ErrCodeCancel)                  //nolint:errcheck // into memory
	s.WriteGoAway(1, http2.ErrCodeNo, nil)                    //nolint:errcheck // into memory
	f.Add(bytes.Clone(s.Bytes()), 3)
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n"), 9)
	f.Fuzz(func(t *testing.T, text []byte, size int) {
		run := func(size int) (string, []string, error) {
			events := &log{}
			c := New(events)
			sent(t, c)
			c.Open(0, request("/0", ""))
			c.Open(1, request("/1", "body"))
			var err error
			for rest := text; len(rest) > 0 && err == nil; rest = rest[min(size, len(rest)):] {
				err = c.Feed(rest[:min(size, len(rest))])
			}
			return events.String(), sent(t, c), err
		}
		whole, out, err := run(len(text) + 1)
		cut, out2, err2 := run(1 + size&31)
		if whole != cut || fmt.Sprint(err) != fmt.Sprint(err2) || fmt.Sprint(out) != fmt.Sprint(out2) {
			t.Errorf("got %q, error %v, %q in pieces; want %q, %v, %q as from the whole", cut, err2, out2, whole, err, out)
		}
	})
}
