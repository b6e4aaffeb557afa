// Package accesslog has a component that writes a line about each exchange when it is over, however
// it ended.
//
// The formats are Common and Combined, as Apache httpd and what reads its logs know them, and JSON
// with more in it. Whatever a client sends, a line stays one line, and of printable characters: in
// Common and Combined all but printable ASCII is written as \xhh, in JSON as \uhhhh; each field
// ends after 8 KiB.
//
// Lines wait in memory for a writer, which is the log's own goroutine: an exchange never waits for
// the disk. When it is so slow that more than Config.Buffer waits, lines are dropped and counted:
// see [Log.Dropped].
//
// Stand first: the duration counts from here, and the log then also hears of exchanges that are
// lost behind it. On a signal that says that the file was renamed, have [Log.Reopen] called.
//
// # Limitations
//
// A client is named by its address as the connection has it, not by what it says of itself in
// X-Forwarded-For. Targets and referrers are written whole, with what secrets people put into them.
// Bytes are those of the body, before TLS; what passes on a connection that was taken over is not
// counted. A line that waits when the process is killed is lost.
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

// Config says what is written where.
type Config struct {
	// File is appended to; it is made where it is not there. Either File or Writer must be given.
	File string `hcl:"file,optional"`
	// Format is "common", "combined" or "json". Empty: combined.
	Format string `hcl:"format,optional"`
	// Buffer is how many bytes of lines may wait for the disk, at least 4096. 0: 1 MiB.
	Buffer int `hcl:"buffer,optional"`
	// Flush is how long a line waits for others that are written with it, such as "100ms", at most
	// "1m". Empty: "1s".
	Flush string `hcl:"flush,optional"`
	// Writer is written to in place of a file, whole lines at a time, by one goroutine at a time.
	Writer io.Writer
	// OnError is called with an error for lines that could not be written, or for which the buffer
	// had no room. It must not call the log's methods. Nil: such errors are dropped.
	OnError func(error)
}

// New opens a log. Who calls New calls Close.
func New(cfg Config) (*Log, error) {
	l, err := prepare(cfg)
	if err != nil {
		return nil, err
	}
	if cfg.File != "" {
		if l.file, err = open(cfg.File); err != nil {
			return nil, err
		}
		l.w = l.file
	}
	go l.write() // ends when Close says so
	return l, nil
}

// Check is [New] for who only looks: the file is neither made nor written to, but what would stop
// New is an error. The log drops what it is given.
func Check(cfg Config) (*Log, error) {
	l, err := prepare(cfg)
	if err != nil {
		return nil, err
	}
	if cfg.File != "" {
		if err := writable(cfg.File); err != nil {
			return nil, err
		}
	}
	l.name, l.w = "", io.Discard
	go l.write() // ends when Close says so
	return l, nil
}

// prepare is a log that does not write yet.
func prepare(cfg Config) (*Log, error) {
	format, ok := formats[cmp.Or(cfg.Format, "combined")]
	if !ok {
		return nil, fmt.Errorf("accesslog: format is %q: choose common, combined or json", cfg.Format)
	}
	flush, err := time.ParseDuration(cmp.Or(cfg.Flush, "1s"))
	if err != nil || flush < 0 || flush > time.Minute {
		return nil, fmt.Errorf("accesslog: flush is %q: write a time up to 1m, such as 1s", cfg.Flush)
	}
	room := cmp.Or(cfg.Buffer, 1<<20)
	if room < 4096 {
		return nil, fmt.Errorf("accesslog: buffer is %d bytes: give at least 4096", cfg.Buffer)
	}
	if (cfg.File == "") == (cfg.Writer == nil) {
		return nil, errors.New("accesslog: file is not set: name the file to write to (or a Writer, but not both)")
	}
	return newLog(cfg, format, room, flush), nil
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
	came := time.Now()
	c.After(func(c *web.Conn) { l.note(c, came) })
}

// note writes down an exchange that is over.
func (l *Log) note(c *web.Conn, came time.Time) {
	e := entry{
		came: came, took: time.Since(came), client: c.RemoteAddr(), user: c.StringValue(web.User),
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
