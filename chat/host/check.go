package host

import (
	"fmt"
	"net"
	"path"
	"runtime"
	"strconv"
	"strings"
	"time"

	"weir/chat/account"
	"weir/chat/front"
	"weir/serve"
)

// Problem is an invalid value of the configuration.
type Problem struct {
	Key  string // key as in the file: "limits.connections"
	Text string // what is wrong and how to correct it
}

// Error implements error.
func (p *Problem) Error() string { return p.Key + ": " + p.Text }

// checker keeps the first problem.
type checker struct{ found *Problem }

func (c *checker) addProblem(key, format string, args ...any) {
	if c.found == nil {
		c.found = &Problem{key, fmt.Sprintf(format, args...)}
	}
}

// inRange requires n to be in a range, or 0, which selects the default.
func (c *checker) inRange(key string, n, least, most int) {
	if n != 0 && (n < least || n > most) {
		c.addProblem(key, "%d is not in the range %d to %d: correct it, or leave it out for the default", n, least, most)
	}
}

func (c *checker) durationInRange(key string, d Duration, least, most time.Duration) {
	if d != 0 && (d.Std() < least || d.Std() > most) {
		c.addProblem(key, "%v is not in the range %v to %v: write a time with its unit, such as \"%s\", or leave it out for the default", d.Std(), short(least), short(most), short(least))
	}
}

// short formats a duration briefly: 1h instead of 1h0m0s.
func short(d time.Duration) string {
	text, _ := Duration(d).MarshalText()
	return string(text)
}

func (c *checker) oneOf(key, value string, words ...string) {
	for _, w := range words {
		if value == w {
			return
		}
	}
	if value != "" {
		c.addProblem(key, "%q is unknown: write one of %s", value, strings.Join(words, ", "))
	}
}

func (c *checker) word(key, value string) {
	if strings.ContainsAny(value, " :\r\n\x00@!") {
		c.addProblem(key, "%q is not one word without : @ and !: choose another", value)
	}
}

func (c *checker) addresses(key string, all []string) {
	seen := map[string]bool{}
	for _, a := range all {
		_, port, err := net.SplitHostPort(a)
		if err != nil {
			c.addProblem(key, "%q is not an address: write HOST:PORT, such as 127.0.0.1:6667, [::1]:6667 or :6667", a)
			return
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil {
			if _, err := net.LookupPort("tcp", port); err != nil {
				c.addProblem(key, "%q has no port in the range 0 to 65535", a)
			}
		} else if seen[a] && n != 0 {
			c.addProblem(key, "%q is listed twice: remove one", a)
		}
		seen[a] = true
	}
}

// Check returns the first problem of the configuration, a *Problem, or nil.
func (c *Config) Check() error {
	var k checker
	if c.Data == "" {
		k.addProblem("data", "the data directory is missing: name it by data in the file or by --data DIR")
	}
	k.addresses("listen", c.Listen)
	if _, err := c.way(); err != nil {
		k.addProblem("model", "%v", err)
	}
	k.inRange("loops", c.Loops, 1, 1024)
	k.durationInRange("drain", c.Drain, 100*time.Millisecond, 10*time.Minute)
	c.TLS.check(&k)
	if _, err := front.ParseProxies(c.Proxy.Trusted); err != nil {
		k.addProblem("proxy.trusted", "%v", err)
	}
	if _, err := front.ParseProxies(c.Web.Proxies); err != nil {
		k.addProblem("web.proxies", "%v", err)
	}
	k.word("server.name", c.Server.Name)
	if n := c.Server.Name; n != "" && !strings.Contains(n, ".") {
		k.addProblem("server.name", "%q has no dot, so clients would take it for a nick: write, for example, chat.%s", n, n)
	}
	k.word("server.network", c.Server.Network)
	if c.Server.MOTD != "" && c.Server.MOTDFile != "" {
		k.addProblem("server.motd_file", "motd is set, too: remove one of them")
	}
	k.oneOf("accounts.registration", c.Accounts.Registration, "invite", "open", "off")
	c.Limits.check(&k)
	c.Retention.check(&k)
	k.addresses("web.listen", c.Web.Listen)
	c.Web.checkHosts(&k)
	for _, o := range c.Web.Origins {
		if _, err := path.Match(o, ""); err != nil || o == "" {
			k.addProblem("web.origins", "%q is not a pattern: write a host such as *.example.org", o)
		}
	}
	c.Upload.check(&k)
	if c.Metrics.Listen != "" {
		k.addresses("metrics.listen", []string{c.Metrics.Listen})
	}
	k.oneOf("log.format", c.Log.Format, "text", "json")
	k.oneOf("log.level", c.Log.Level, "debug", "info", "warn", "error")
	if k.found != nil {
		return k.found
	}
	return nil
}

const (
	maxNumber = 1 << 16
	maxLines  = 100_000
)

func (l *Limits) check(k *checker) {
	k.inRange("limits.connections", l.Connections, 1, maxNumber)
	k.inRange("limits.per_address", l.PerAddress, 1, maxNumber)
	k.inRange("limits.unregistered", l.Unregistered, 1, maxNumber)
	k.inRange("limits.unregistered_per_address", l.UnregisteredPerAddress, 1, maxNumber)
	k.inRange("limits.rooms", l.Rooms, 1, maxNumber)
	k.inRange("limits.user_rooms", l.UserRooms, 1, maxNumber)
	if l.Flood != nil { // nil: the default; 0: no limit
		k.inRange("limits.flood", *l.Flood, 1, 1_000_000)
	}
	// the silence after which a client is sent a PING
	k.durationInRange("limits.alive", l.Alive, time.Second, 24*time.Hour)
	// the time that a client has for its registration
	k.durationInRange("limits.begin", l.Begin, time.Second, time.Hour)
	k.inRange("limits.replay", l.Replay, 1, maxLines)
	k.inRange("limits.history", l.History, 1, maxLines)
}

// leastBytes is the smallest size limit of a log: four of the longest lines.
const leastBytes = 64 << 10

func (r *Retention) check(k *checker) {
	k.durationInRange("retention.room_age", r.RoomAge, time.Minute, maxDuration)
	k.durationInRange("retention.direct_age", r.DirectAge, time.Minute, maxDuration)
	for key, z := range map[string]Size{"retention.room_bytes": r.RoomBytes, "retention.direct_bytes": r.DirectBytes} {
		if z != 0 && z < leastBytes {
			k.addProblem(key, "%d bytes are less than 64 KiB: write a larger size, or 0 for no limit", z)
		}
	}
}

// way returns the concurrency model of the clear-text connections: the value of the key model. TLS
// connections have a key of their own, tls.model. The model must run values of serve.Session,
// because each chat connection is one, and use one process only, because that process holds all
// rooms.
func (c *Config) way() (serve.Way, error) {
	if c.Model == "" && runtime.GOOS == "linux" {
		return serve.Loop, nil
	}
	if c.Model == "" {
		return serve.Goroutine, nil
	}
	const remedy = "write loop, goroutine, pool or coroutine"
	way, err := serve.ParseWay(c.Model)
	switch {
	case err != nil || !serve.Ways[way].RunsSessions:
		return 0, fmt.Errorf("%q is not a concurrency model of a chat: %s", c.Model, remedy)
	case serve.Ways[way].MultiProcess:
		return 0, fmt.Errorf("%s spreads connections over processes, and the rooms of a chat are in one: %s", way, remedy)
	}
	return way, nil
}

// registration returns the policy as package account writes it. That spells the default, invite, as
// "": both the value invite and a missing key select it.
func (a *Accounts) registration() account.Registration {
	switch a.Registration {
	case "", "invite":
		return account.RegistrationByInvite
	}
	return account.Registration(a.Registration)
}
