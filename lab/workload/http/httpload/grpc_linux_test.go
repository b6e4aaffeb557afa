package httpload

import (
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"weir/lab/load"
	"weir/lab/workload/http/httpload/unary"
)

// question and greeting are a call's messages: protobuf, with a string in field 1.
const (
	question = "\n\x03Ann"
	greeting = "\n\x09Hello Ann"
)

// greeter is a gRPC server by net/http, which answers as the path says.
func greeter(w nethttp.ResponseWriter, r *nethttp.Request) {
	body, err := io.ReadAll(r.Body)
	status := "0"
	switch {
	case err != nil || r.Method != "POST" || r.Header.Get("Te") != "trailers" || r.Header.Get("Content-Type") != "application/grpc" || r.ContentLength > 0 || r.Header.Get("Accept") != "":
		status = "13"
	case r.URL.Path == "/test.Greeter/Missing":
		status = "5"
	}
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Trailer", "grpc-status, grpc-message")
	if status == "0" {
		if got := string(body); got != string(unary.Encode([]byte(question))) || r.Header.Get("User") != "Ann" {
			status = "3"
		}
		w.Write(unary.Encode([]byte(greeting))) //nolint:errcheck // the client sees it
	}
	w.Header().Set("Grpc-Status", status)
	w.Header().Set("Grpc-Message", "as %27asked%27")
}

// call is a call that greeter answers.
func call() Request {
	return Request{GRPC: true, Path: "/test.Greeter/SayHello", Headers: []string{"user: Ann"}, Body: question}
}

func TestCallsAreAnsweredAndChecked(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"closed loop":          func(c *Config) { c.Requests = 50 },
		"closed loop, streams": func(c *Config) { c.Requests, c.Streams = 50, 10 },
		"open loop, streams":   func(c *Config) { c.Rate, c.Duration, c.Streams = 500, 100*time.Millisecond, 10 },
	} {
		for kind, serve := range map[string]func(*testing.T, nethttp.HandlerFunc) Config{"prior knowledge": clearHTTP2, "TLS": secureHTTP2} {
			c := serve(t, greeter)
			change(&c)
			c.Expect, c.Mix = nil, []Request{{GRPC: true, Path: "/test.Greeter/Missing", Status: "NOT_FOUND"}}
			for _, check := range []Check{{}, {Same: true}, {Body: ref(greeting)}, {Length: ref(int64(len(greeting)))}, {Match: "Hello Ann$"}} {
				r := call()
				r.Check = check
				c.Mix = append(c.Mix, r)
			}
			if got := mustRun(t, c); got.Messages != 50 && got.Answered != 50 || len(got.Errors) > 0 {
				t.Errorf("%s, %s: got %d answers, errors %v %q; want 50 and none", kind, name, got.Messages, got.Errors, got.Details)
			}
		}
	}
}

func TestACallThatGoesWrongHasItsKind(t *testing.T) {
	c := clearHTTP2(t, greeter)
	c.Connections, c.Requests, c.Streams, c.Expect = 1, 10, 3, nil
	other := call()
	other.Body = "x"
	expectsError := call()
	expectsError.Status = "5"
	longer := call()
	longer.Check.Length = ref(int64(1))
	for _, test := range []struct {
		name    string
		request Request
		kind    string
	}{
		{"another message", other, "grpc INVALID_ARGUMENT"},
		{"another status", Request{GRPC: true, Path: "/test.Greeter/Missing"}, "grpc NOT_FOUND"},
		{"success where an error is expected", expectsError, "grpc OK"},
		{"another length", longer, kindLength},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := c
			c.Mix = []Request{test.request}
			checkKind(t, c, test.kind, 10)
		})
	}
	t.Run("first answer", func(t *testing.T) {
		c := c
		c.Mix = []Request{{GRPC: true, Path: "/test.Greeter/Missing", Check: Check{Same: true}}}
		if _, err := Run(t.Context(), c, load.Events{}); err == nil || !strings.Contains(err.Error(), "status 5 NOT_FOUND: as 'asked'") {
			t.Errorf("got error %v, want one with the status and the reason of the first answer", err)
		}
	})
}

// grpcHead starts an answer.
func (f *frames) grpcHead(id uint32) {
	f.head(id, false, ":status", "200", "content-type", "application/grpc")
}

// reply sends bytes of an answer, and trailers with a status.
func (f *frames) reply(id uint32, body, status string) {
	f.grpcHead(id)
	f.WriteData(id, false, []byte(body)) //nolint:errcheck // the client sees it
	f.head(id, true, "grpc-status", status)
}

func TestEveryMisbehaviourOfGRPCHasItsKind(t *testing.T) {
	message := string(unary.Encode([]byte(greeting)))
	for _, test := range []struct {
		name   string
		answer func(f *frames, id uint32)
		want   string
	}{
		{"right", func(f *frames, id uint32) { f.reply(id, message, "0") }, ""},
		{"right in single bytes", func(f *frames, id uint32) {
			f.grpcHead(id)
			for i := range message {
				f.WriteData(id, false, []byte(message[i:i+1]))
			}
			f.head(id, true, "grpc-status", "0", "grpc-message", "")
		}, ""},
		{"no trailers", func(f *frames, id uint32) {
			f.grpcHead(id)
			f.WriteData(id, true, []byte(message))
		}, "grpc no status"},
		{"trailers without a status", func(f *frames, id uint32) {
			f.grpcHead(id)
			f.WriteData(id, false, []byte(message))
			f.head(id, true, "x-sum", "1")
		}, "grpc no status"},
		{"a status in the head alone", func(f *frames, id uint32) {
			f.head(id, false, ":status", "200", "grpc-status", "0")
			f.WriteData(id, true, []byte(message))
		}, "grpc no status"},
		{"a page", func(f *frames, id uint32) {
			f.head(id, false, ":status", "200", "content-type", "text/html")
			f.WriteData(id, true, []byte("<html></html>"))
		}, kindMessage},
		{"404", func(f *frames, id uint32) { f.head(id, true, ":status", "404") }, kindStatus},
		{"status 14", func(f *frames, id uint32) { f.reply(id, "", "14") }, "grpc UNAVAILABLE"},
		{"status 14 in the head", func(f *frames, id uint32) {
			f.head(id, true, ":status", "200", "content-type", "application/grpc", "grpc-status", "14", "grpc-message", "drain\x07ing")
		}, "grpc UNAVAILABLE"},
		{"status 14 after a message", func(f *frames, id uint32) { f.reply(id, message, "14") }, "grpc UNAVAILABLE"},
		{"status 99", func(f *frames, id uint32) { f.reply(id, message, "99") }, "grpc other status"},
		{"a status in words", func(f *frames, id uint32) { f.reply(id, message, "fine") }, "grpc other status"},
		{"two statuses", func(f *frames, id uint32) {
			f.grpcHead(id)
			f.WriteData(id, false, []byte(message))
			f.head(id, true, "grpc-status", "0", "grpc-status", "0")
		}, "grpc other status"},
		{"no message", func(f *frames, id uint32) { f.reply(id, "", "0") }, kindMessage},
		{"half a prefix", func(f *frames, id uint32) { f.reply(id, message[:3], "0") }, kindMessage},
		{"a longer prefix", func(f *frames, id uint32) { f.reply(id, "\x00\x00\x00\x00\xff"+greeting, "0") }, kindMessage},
		{"a shorter prefix", func(f *frames, id uint32) { f.reply(id, "\x00\x00\x00\x00\x01"+greeting, "0") }, kindMessage},
		{"two messages", func(f *frames, id uint32) { f.reply(id, message+message, "0") }, kindMessage},
		{"the compressed flag", func(f *frames, id uint32) { f.reply(id, "\x01"+message[1:], "0") }, kindMessage},
		{"a message over the limit", func(f *frames, id uint32) {
			f.grpcHead(id)
			f.WriteData(id, false, []byte("\x00\x7f\xff\xff\xff"))
		}, kindMessage},
		{"another message", func(f *frames, id uint32) { f.reply(id, "\x00\x00\x00\x00\x02hi", "0") }, kindBody},
		{"RST_STREAM", func(f *frames, id uint32) { f.WriteRSTStream(id, http2.ErrCodeRefusedStream) }, kindStream},
		{"RST_STREAM after the message", func(f *frames, id uint32) {
			f.grpcHead(id)
			f.WriteData(id, false, []byte(message))
			f.WriteRSTStream(id, http2.ErrCodeNo)
		}, kindStream},
		{"GOAWAY", func(f *frames, id uint32) { f.WriteGoAway(0, http2.ErrCodeNo, nil) }, kindGoAway},
	} { //nolint:errcheck // the client sees what is sent
		t.Run(test.name, func(t *testing.T) {
			url := rawServer(t, playsHTTP2(test.answer))
			r := call()
			r.Check.Body = ref(greeting)
			c := Config{URL: url, Connections: 2, Streams: 1, HTTP2: true, Requests: 12, Mix: []Request{r}}
			t.Run("closed loop", func(t *testing.T) { checkKind(t, c, test.want, 12) })
			c.Rate, c.Requests, c.Duration = 400, 0, 30*time.Millisecond
			t.Run("open loop", func(t *testing.T) { checkKind(t, c, test.want, 12) })
		})
	}
}

// TestCallsGoOnAfterGoAway checks a server that drains its connections during the load.
func TestCallsGoOnAfterGoAway(t *testing.T) {
	url := rawServer(t, playsHTTP2(func(f *frames, id uint32) {
		if f.count == 5 {
			f.WriteGoAway(id, http2.ErrCodeNo, nil) //nolint:errcheck // the client sees it
		}
		if f.count <= 5 {
			f.reply(id, string(unary.Encode([]byte(greeting))), "0")
		}
	}))
	r := mustRun(t, Config{URL: url, Connections: 2, HTTP2: true, Requests: 50, Timeout: time.Minute, Mix: []Request{call()}})
	if r.Messages != 50 || len(r.Errors) != 0 || r.Opened < 10 {
		t.Errorf("got %d answers on %d connections, errors %v %q; want 50 on at least 10, and none", r.Messages, r.Opened, r.Errors, r.Details)
	}
}

func TestAReasonIsPrintedWithoutControlCharacters(t *testing.T) {
	url := rawServer(t, playsHTTP2(func(f *frames, id uint32) {
		f.head(id, true, ":status", "200", "grpc-status", "14", "grpc-message", "%1b[2J"+strings.Repeat("y", 1000))
	}))
	r := mustRun(t, Config{URL: url, Connections: 1, HTTP2: true, Requests: 1, Mix: []Request{call()}})
	text := fmt.Sprint(r.Details)
	if !strings.Contains(text, `status 14 UNAVAILABLE: \x1b[2Jyyy`) || len(text) > 400 {
		t.Errorf("got details %q, want the status, and the reason escaped and cut", text)
	}
}

func TestAServerOfHTTP1IsNoGRPCServer(t *testing.T) {
	url := rawServer(t, func(c net.Conn) { io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") }) //nolint:errcheck // the client sees it
	_, err := Run(t.Context(), Config{URL: url, Connections: 1, HTTP2: true, Requests: 10, Mix: []Request{call()}}, load.Events{})
	if err == nil || !strings.Contains(err.Error(), "does not speak HTTP/2 here") {
		t.Errorf("got error %v, want that the server does not speak HTTP/2", err)
	}
}

// TestBinaryBodiesAreDescribedInHexadecimal checks that a file of requests holds any message.
func TestBinaryBodiesAreDescribedInHexadecimal(t *testing.T) {
	mix := []Request{{GRPC: true, Path: "/a.B/C", Body: "\n\x02\xff\x00", Check: Check{Body: ref("\xfe")}}, {Path: "/", Body: "plain", Check: Check{Body: ref("")}}}
	text, err := FormatMix(mix)
	if err != nil || !strings.Contains(string(text), "body_hex = '0a02ff00'") || !strings.Contains(string(text), "body = 'plain'") {
		t.Fatalf("got %s, error %v; want a body in hexadecimal and one as it is", text, err)
	}
	file := filepath.Join(t.TempDir(), "mix.toml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := ReadMix(file)
	if err != nil || !reflect.DeepEqual(got, mix) {
		t.Errorf("got %+v, error %v; want %+v", got, err, mix)
	}
	for _, text := range []string{`body_hex = "0"`, `check = { body_hex = "xy" }`} {
		if err := os.WriteFile(file, []byte("[[request]]\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadMix(file); err == nil || !strings.Contains(err.Error(), "is not hexadecimal") {
			t.Errorf("%s: got error %v, want that it is not hexadecimal", text, err)
		}
	}
}

func TestCallsNeedHTTP2(t *testing.T) {
	c := Config{URL: "http://a/", Connections: 1, Requests: 1, Mix: []Request{call()}}
	if err := c.Check(false); err == nil || !strings.Contains(err.Error(), "give --http2") {
		t.Errorf("got error %v, want that --http2 is to be given", err)
	}
}
