package core

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"time"

	"weir/chat/account"
	"weir/internal/disk"
)

// Options configure a service. They are set before Open; only Configure changes them later. The
// zero value of a field selects its default.
type Options struct {
	Name    string // server name in message sources: one word with a dot. Default "weir.chat"
	Network string // network name: one word. Default "Weir"
	MOTD    string // message of the day, in lines. "": none

	Registration account.Registration // who may create accounts. Default by invite
	LoginOnly    bool                 // only clients that have logged in may register
	STS          *STS                 // strict transport security. nil: none

	MaxConnections int // limit on open connections, 1 to 65,536. Default 10,000
	// limit on connections of one network that is not loopback: an IPv4 address, or the /64 of an
	// IPv6 address. Default 64
	MaxPerAddress int
	// limit on open connections that have not registered. Beyond it the oldest is closed. Default
	// half of MaxConnections, at least 256
	MaxUnregistered int
	// limit on unregistered connections of one network, as in MaxPerAddress. Default half of
	// MaxPerAddress, at least 16
	MaxUnregisteredPerAddress int
	MaxRooms                  int // open conversations, 1 to 65,536. Default 16,384
	MaxRoomsPerUser           int // rooms that a user may be in. Default 256

	// commands per second of an account or network, with bursts of ten times as many. Clients of
	// loopback without an account have no limit. Default 10; negative: no limit
	CommandsPerSecond int
	// a client that is silent for so long is sent a PING, and disconnected after half as long
	// again. Default 2 min
	PingAfter           time.Duration
	RegistrationTimeout time.Duration // time limit of registration. Default 30 s

	// deliver in large rooms at once, instead of coalescing for some milliseconds: lower latency,
	// more CPU. See conversation.go
	NoCoalescing bool
	// URL for uploads, without a slash at the end; see package chat/page. "": no uploads
	UploadURL string
	NoSearch  bool // no SEARCH, and no index is maintained

	// lines per room replayed to a client that lacks chathistory. Default 500
	MaxReplay  int
	MaxHistory int // lines in the answer to one CHATHISTORY. Default 1000

	Disk disk.FS          // file calls of the data directory. Default the operating system's
	Now  func() time.Time // clock. Default time.Now
	Log  *slog.Logger     // receives no message texts. Default: discard

	// OnCommit is called after each batch with the time that the append and fsync took, and the
	// error of the disk, if any. It is called by several goroutines at once, before the batch is
	// delivered, and must not block. Default: no call.
	OnCommit func(took time.Duration, err error)
}

// Configure replaces the options.
func (s *Core) Configure(o *Options) {
	before := s.current
	s.current = o
	s.notifyCapChanges(before, o)
}

// Options returns the current options. They are immutable.
func (s *Core) Options() *Options { return s.current }

// WithDefaults returns the options with the defaults of all fields but Disk, Now and OnCommit,
// which the core does not use. The error names an option that is invalid, and what to do.
func (o Options) WithDefaults() (Options, error) {
	setDefault(&o.Name, "weir.chat")
	setDefault(&o.Network, "Weir")
	setDefault(&o.MaxConnections, 10_000)
	setDefault(&o.MaxPerAddress, 64)
	setDefault(&o.MaxUnregistered, max(o.MaxConnections/2, 256))
	setDefault(&o.MaxUnregisteredPerAddress, max(o.MaxPerAddress/2, 16))
	setDefault(&o.MaxRooms, 16_384)
	setDefault(&o.MaxRoomsPerUser, 256)
	setDefault(&o.CommandsPerSecond, 10)
	setDefault(&o.PingAfter, 2*time.Minute)
	setDefault(&o.RegistrationTimeout, 30*time.Second)
	setDefault(&o.MaxReplay, 500)
	setDefault(&o.MaxHistory, 1000)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o, o.check()
}

// STS is strict transport security: it makes clients switch to TLS and stay there
// (https://ircv3.net/specs/extensions/sts). It requires a TLS listener with a certificate that
// clients trust, for as long as any client remembers the policy.
type STS struct {
	// port of the TLS listener, advertised in clear text. 0: not advertised
	Port int
	// how long clients remember the policy, advertised over TLS. 0: clients forget it
	Duration time.Duration
}

// capValue returns the value of the capability sts, "" if it is not offered.
func (s *STS) capValue(secure bool) string {
	switch {
	case s != nil && secure:
		return "duration=" + strconv.FormatInt(int64(s.Duration/time.Second), 10)
	case s != nil && s.Port > 0:
		return "port=" + strconv.Itoa(s.Port)
	}
	return ""
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (o Options) check() error {
	for _, word := range []string{o.Name, o.Network} {
		if strings.ContainsAny(word, " :\r\n\x00@!") {
			return fmt.Errorf("chat: the name %q must be one word without : @ and !; choose another", word)
		}
	}
	if u, err := url.Parse(o.UploadURL); o.UploadURL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.ContainsAny(o.UploadURL, " \r\n") || len(o.UploadURL) > 128) {
		return fmt.Errorf("chat: Upload %q is not a URL: write one such as https://chat.example.org/upload", o.UploadURL)
	}
	if !strings.Contains(o.Name, ".") {
		return fmt.Errorf("chat: the server's name %q needs a dot, or clients take it for a user's", o.Name)
	}
	if o.MaxConnections < 1 || o.MaxConnections > 1<<16 || o.MaxRooms < 1 || o.MaxRooms > 1<<16 {
		return errors.New("chat: MaxConnections and MaxRooms are 1 to 65536")
	}
	if o.MaxReplay < 0 || o.MaxHistory < 1 || o.MaxPerAddress < 1 || o.MaxUnregistered < 1 || o.MaxUnregisteredPerAddress < 1 || o.MaxRoomsPerUser < 1 || o.PingAfter < 0 || o.RegistrationTimeout < 0 {
		return errors.New("chat: a limit is negative: leave it out for its default")
	}
	return nil
}
