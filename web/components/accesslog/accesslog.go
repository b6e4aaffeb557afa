// Package accesslog has a component that logs a line for each exchange when it is over, whatever
// its outcome.
//
// The formats are Apache's Common and Combined, and JSON with more fields. No input of a client can
// break a line: in Common and Combined every byte that is not printable ASCII is written as \xhh,
// in JSON every such character as \uhhhh. Fields are truncated at 8 KiB.
//
// Lines are buffered for the log's own goroutine, so an exchange never waits for the disk. When
// more than Config.Buffer bytes wait, lines are dropped and counted: see [Log.Dropped].
//
// Put the component first: the duration counts from there, and the log then includes exchanges that
// fail in later components. After a log rotation, call [Log.Reopen].
//
// # Limitations
//
// The client's address is that of the connection, unless the server trusts the proxy. Targets and
// referrers are logged completely, with any secrets in them. Bytes are those of the body, before
// TLS; bytes on a hijacked connection are not counted. Buffered lines are lost when the process is
// killed.
package accesslog

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"weir/web"
)

// Config configures a Log.
type Config struct {
	// File is appended to, and created if it does not exist.
	File string `hcl:"file,optional"`
	// Format is "common", "combined" or "json". Empty: "combined".
	Format string `hcl:"format,optional"`
	// Buffer is the size of the buffer for lines that wait for the disk, in bytes, at least 4096.
	// 0: 1,048,576 (1 MiB).
	Buffer int `hcl:"buffer,optional"`
	// Flush is how long a line waits for others to be written with it, such as "100ms", at most
	// "1m". Empty: "1s".
	Flush string `hcl:"flush,optional"`
	// Writer is written to instead of a file, whole lines at a time, by one goroutine at a time.
	// Exactly one of File and Writer must be set.
	Writer io.Writer
	// OnError is called with an error for lines that could not be written, or for which the buffer
	// had no room. It must not call the log's methods. Nil: such errors are dropped.
	OnError func(error)
}

// New opens a log. The caller must call Close.
func New(cfg Config) (*Log, error) {
	l, err := newUnopened(cfg)
	if err != nil {
		return nil, err
	}
	if cfg.File != "" {
		if l.file, err = open(cfg.File); err != nil {
			return nil, err
		}
		l.w = l.file
	}
	go l.write() // ends by Close
	return l, nil
}

// Check is [New] without side effects: it neither creates nor writes the file, but returns an error
// if New would fail. The returned log drops all lines.
func Check(cfg Config) (*Log, error) {
	l, err := newUnopened(cfg)
	if err != nil {
		return nil, err
	}
	if cfg.File != "" {
		if err := checkWritable(cfg.File); err != nil {
			return nil, err
		}
	}
	l.name, l.w = "", io.Discard
	go l.write() // ends by Close
	return l, nil
}

// newUnopened returns a log whose file and goroutine are still missing.
func newUnopened(cfg Config) (*Log, error) {
	format, ok := formats[cmp.Or(cfg.Format, "combined")]
	if !ok {
		return nil, fmt.Errorf("accesslog: format is %q: choose common, combined or json", cfg.Format)
	}
	flush, err := time.ParseDuration(cmp.Or(cfg.Flush, "1s"))
	if err != nil || flush < 0 || flush > time.Minute {
		return nil, fmt.Errorf("accesslog: flush is %q: write a time up to 1m, such as 1s", cfg.Flush)
	}
	bufferSize := cmp.Or(cfg.Buffer, 1<<20)
	if bufferSize < 4096 {
		return nil, fmt.Errorf("accesslog: buffer is %d bytes: it must be at least 4096", cfg.Buffer)
	}
	if (cfg.File == "") == (cfg.Writer == nil) {
		return nil, errors.New("accesslog: file is not set: name the file to write to (or set a Writer, but not both)")
	}
	return newLog(cfg, format, bufferSize, flush), nil
}

func open(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o640)
	if err != nil {
		return nil, fmt.Errorf("accesslog: %w", err)
	}
	return f, nil
}

// Traits implements the optional part of [web.Component].
func (l *Log) Traits() web.Traits { return web.Traits{Name: "accesslog"} }

// Handle implements [web.Component].
func (l *Log) Handle(c *web.Conn) {
	startedAt := time.Now()
	c.After(func(c *web.Conn) { l.record(c, startedAt) })
}

// record logs an exchange that is over.
func (l *Log) record(c *web.Conn, startedAt time.Time) {
	e := entry{
		startedAt: startedAt, duration: time.Since(startedAt), client: c.RemoteAddr(), user: c.StringValue(web.User),
		method: c.Method(), host: c.Host(), target: c.Target(), proto: c.Proto(),
		status: c.Status(), bytes: c.Sent(),
		referer: c.RequestHeader("Referer"), agent: c.RequestHeader("User-Agent"),
		id: c.StringValue(web.RequestID), upstream: c.StringValue(web.Upstream), route: c.StringValue(web.Route), err: c.Err(),
	}
	if host, _, err := net.SplitHostPort(e.client); err == nil {
		e.client = host
	}
	if e.status == 0 && e.err == nil && c.Body().IsHijack() {
		e.status = http.StatusSwitchingProtocols
	}
	var space [512]byte
	l.add(l.format(space[:0], &e))
}
