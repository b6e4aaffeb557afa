package chat

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"time"

	"weir/chat/account"
)

// Options are set before Open, and not changed after but by Configure. The zero value of a field
// gives its default.
type Options struct {
	Name    string // of the server, in sources: a word with a dot. Default "weir.chat"
	Network string // a word. Default "Weir"
	MOTD    string // what new users read, lines; default none

	Registration account.Registration // who may make an account. Default by invite
	LoginOnly    bool                 // only accounts may come in
	STS          *STS                 // has clients come by TLS; default none

	Connections int // at once, 1 to 65,536. Default 10,000
	// connections of one address that is not loopback; the 64 bits of an IPv6 address that one
	// household has count as one. Default 64
	PerAddress int
	// connections at once that have not registered: the oldest has to go when there are more.
	// Default half of Connections, at least 256
	Unknown int
	// of these, of one address as in PerAddress. Default half of PerAddress, at least 16
	UnknownEach int
	MaxRooms    int // rooms and direct conversations, 1 to 65,536. Default 16,384
	UserRooms   int // rooms a user may be in. Default 256

	// commands a second of an account or address, ten times as many at once; loopback without an
	// account is free. Default 10; below zero: no limit
	Flood int
	// a client that says nothing for so long is asked, and gone after half of it again. Default 2
	// min
	Alive time.Duration
	Begin time.Duration // how long registration may take. Default 30 s

	// what is said in a large room is told at once, and not together with what is said some
	// milliseconds later: see rest.go
	Prompt bool
	// URL that files are uploaded to, see package chat/page; without a / at its end. Default none
	Upload   string
	NoSearch bool // no SEARCH, and no index is kept for it

	// lines at most that a client without chathistory is replayed in a room. Default 500
	Replay  int
	History int // lines at most of one CHATHISTORY. Default 1000

	Now func() time.Time // the clock. Default time.Now
	Log *slog.Logger     // never told a message's text. Default none

	// Committed is told of each batch how long the disk took to have it, and whether it refused.
	// Called by several goroutines at once, before the batch is delivered; must not block. Default
	// nobody.
	Committed func(took time.Duration, err error)
}

// Configure has other options hold from now on, for everybody: what somebody is told or allowed
// next is as they say. Name, Network, and what is no value, stay what they were at Open, and
// Connections and MaxRooms go no higher than they were then; kept names those of these four that
// were to be changed. An error means that nothing was changed.
func (s *Service) Configure(o Options) (kept []string, err error) {
	if o, err = o.withDefaults(); err != nil {
		return nil, err
	}
	if err := s.accounts.SetRegistration(o.Registration); err != nil {
		return nil, err
	}
	for _, word := range []struct {
		name      string
		now, then *string
	}{{"Name", &o.Name, &s.o.Name}, {"Network", &o.Network, &s.o.Network}} {
		if *word.now != *word.then {
			kept, *word.now = append(kept, word.name), *word.then
		}
	}
	for _, limit := range []struct {
		name      string
		now, then *int
	}{{"Connections", &o.Connections, &s.o.Connections}, {"MaxRooms", &o.MaxRooms, &s.o.MaxRooms}} {
		if *limit.now > *limit.then { // queues have room for so many
			kept, *limit.now = append(kept, limit.name), *limit.then
		}
	}
	o.Now, o.Log, o.Committed = s.o.Now, s.o.Log, s.o.Committed
	s.locked(func() {
		before := s.opts()
		s.current.Store(&o)
		s.offerAnew(before, &o)
	})
	return kept, nil
}

// opts are the options that hold now.
func (s *Service) opts() *Options { return s.current.Load() }

func (o Options) withDefaults() (Options, error) {
	setDefault(&o.Name, "weir.chat")
	setDefault(&o.Network, "Weir")
	setDefault(&o.Connections, 10_000)
	setDefault(&o.PerAddress, 64)
	setDefault(&o.Unknown, max(o.Connections/2, 256))
	setDefault(&o.UnknownEach, max(o.PerAddress/2, 16))
	setDefault(&o.MaxRooms, 16_384)
	setDefault(&o.UserRooms, 256)
	setDefault(&o.Flood, 10)
	setDefault(&o.Alive, 2*time.Minute)
	setDefault(&o.Begin, 30*time.Second)
	setDefault(&o.Replay, 500)
	setDefault(&o.History, 1000)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Committed == nil {
		o.Committed = func(time.Duration, error) {}
	}
	return o, o.check()
}

// STS tells clients that know of it to come by TLS, and to come by nothing else for a while. The
// page ircv3.net/specs/extensions/sts says what this means: there has to be TLS with a certificate
// that clients trust, as long as the longest of them remembers.
type STS struct {
	// where TLS is, for those who come in clear text. 0: they are told nothing
	Port     int
	Duration time.Duration // how long those who come by TLS remember. 0: they forget
}

// value is what a client is told, "" for nothing.
func (s *STS) value(secure bool) string {
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
			return fmt.Errorf("chat: the name %q has to be one word, and hold none of : @ and !; choose another", word)
		}
	}
	if u, err := url.Parse(o.Upload); o.Upload != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.ContainsAny(o.Upload, " \r\n") || len(o.Upload) > 128) {
		return fmt.Errorf("chat: Upload %q is no address: write one such as https://chat.example.org/upload", o.Upload)
	}
	if !strings.Contains(o.Name, ".") {
		return fmt.Errorf("chat: the server's name %q needs a dot, or clients take it for a user's", o.Name)
	}
	if o.Connections < 1 || o.Connections > 1<<16 || o.MaxRooms < 1 || o.MaxRooms > 1<<16 {
		return errors.New("chat: Connections and MaxRooms are 1 to 65536")
	}
	if o.Replay < 0 || o.History < 1 || o.PerAddress < 1 || o.Unknown < 1 || o.UnknownEach < 1 || o.UserRooms < 1 || o.Alive < 0 || o.Begin < 0 {
		return errors.New("chat: a limit is below zero: leave it out for its default")
	}
	return nil
}
