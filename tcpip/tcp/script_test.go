package tcp

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/wire"
)

// script runs a conversation of one end with a peer that the script plays, in virtual time. Each
// line is one of
//
//	config KEY=VALUE...   before the first step; keys: see script.config
//	dial | accept         the end opens; accept waits for the SYN that follows
//	dial fastopen COOKIE MSS
//	                      the end opens with Fast Open; the COOKIE in hex, or - to request one
//	accept fastopen COOKIE | accept grant COOKIE
//	                      accept the data of the SYN; or only grant a cookie (-: none)
//	arrive ... output     segments between them are one batch, which the end answers afterwards
//	sendsyn | syndata N   call SendSYN; check how many bytes of data of a SYN were acknowledged
//	accept cookie         accept with a SYN cookie: no connection exists, and its state is NONE,
//	                      until the cookie is returned
//	< FLAGS seq N [ack N] [win N] [len N] [mss N] [scale N] [sackok] [ce] [urg N] [uto SECONDS]
//	[ts N ecr N] [fo COOKIE] [sack A-B...]
//	                      the peer sends
//	> FLAGS ...           the end must send exactly this, now; fields that are not named are not
//	                      compared, except len
//	> ... ect             an ECN-capable segment; without ect, it must not be ECN-capable
//	> ... nots            a segment without timestamps
//	> nothing             the end must send nothing now
//	+DURATION             time passes; timers run, and must send nothing before its end
//	write N | read N | closewrite | abort | nodelay | cork | uncork
//	                      calls of the application; read checks how many bytes there are
//	limit N               call LimitSegments
//	mss N | cwnd N        check the MSS, or the congestion window in bytes
//	end                   the application must be at the end of the stream
//	quick N               checks that N quick ACKs are left; 0 sets it to 0
//	urge N | urgent N     write N urgent bytes; check that the next N bytes to read are urgent
//	memory N              N bytes of memory are left from now on
//	orphan | linger DURATION | user DURATION | keep IDLE INTERVAL COUNT
//	                      the calls Orphan, SetLinger, SetUserTimeout, SetKeepAlive
//	state NAME [CAUSE...] checks the state
//	# ...                 comment
//
// Sequence numbers count from the SYN of their sender, which is 0. Several segments that are sent
// at the same time stand on one line each.
type script struct {
	t     *testing.T
	name  string
	line  int
	cfg   Config
	conn  *Conn
	now   Time
	out   []OutSegment
	batch bool // the end does not send before the step output
	await bool // accept waits for the SYN
	iss   wire.Seq
	// what accept answers with: cookie, or fastopen or grant and a cookie; empty: a plain SYN,ACK
	acceptMode []string
}

const (
	ourISS  = wire.Seq(0xffff_ff00) // so that sequence numbers wrap around
	peerISS = wire.Seq(0x7fff_ffe0)
)

func TestScriptsReplayAsWritten(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("testdata: got %d scripts, error %v; want at least one", len(files), err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) { runScripts(t, f) })
	}
}

// runScripts runs the conversations of a file. Each starts with a line "== TITLE".
func runScripts(t *testing.T, file string) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	type part struct {
		title string
		start int
		lines []string
	}
	var parts []part
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		n++
		text := strings.TrimSpace(lines.Text())
		if title, ok := strings.CutPrefix(text, "== "); ok {
			parts = append(parts, part{title: title, start: n})
		} else if len(parts) > 0 {
			parts[len(parts)-1].lines = append(parts[len(parts)-1].lines, text)
		}
	}
	for _, p := range parts {
		t.Run(p.title, func(t *testing.T) {
			s := &script{t: t, name: file, now: Time(time.Hour), iss: ourISS}
			for i, text := range p.lines {
				s.line = p.start + i + 1
				text, _, _ = strings.Cut(text, "#")
				if text = strings.TrimSpace(text); text != "" {
					s.step(text)
				}
			}
			if len(s.out) > 0 {
				s.fail("the end sent %s, want nothing more", s.describe(&s.out[0]))
			}
		})
	}
}

func (s *script) fail(format string, args ...any) {
	s.t.Helper()
	state := ""
	if s.conn != nil {
		state = fmt.Sprintf(" (%v)", s.conn.State())
	}
	s.t.Fatalf("%s:%d: %s%s", s.name, s.line, fmt.Sprintf(format, args...), state)
}

func (s *script) step(text string) {
	s.t.Helper()
	words := strings.Fields(text)
	if words[0] != ">" && len(s.out) > 0 {
		s.fail("the end sent %s, want nothing more", s.describe(&s.out[0]))
	}
	switch {
	case words[0] == "config":
		s.config(words[1:])
	case words[0] == "arrive", words[0] == "output":
		s.batch = words[0] == "arrive"
		s.flush()
	case words[0] == "dial":
		s.dial(words[1:])
	case words[0] == "accept":
		s.await, s.acceptMode = true, words[1:]
	case words[0] == "<":
		s.arrives(words[1:])
	case words[0] == ">":
		s.sends(words[1:])
	case words[0][0] == '+':
		s.pass(words[0][1:])
	case words[0] == "state":
		got := "NONE"
		if s.conn != nil {
			got = s.conn.State().String()
		}
		if s.conn == nil {
		} else if c := s.conn.Cause(); c != NoCause {
			got += " " + c.String()
		}
		if got != strings.Join(words[1:], " ") {
			s.fail("the state is %s, want %s", got, strings.Join(words[1:], " "))
		}
	default:
		s.call(words)
	}
}

func (s *script) config(words []string) {
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		n, _ := strconv.Atoi(value)
		d, _ := time.ParseDuration(value)
		switch key {
		case "mss":
			s.cfg.MSS = n
		case "superframe":
			s.cfg.Superframe = n
		case "send":
			s.cfg.SendBuffer = BufferRange{n, n}
		case "receive":
			s.cfg.ReceiveBuffer = BufferRange{n, n}
		case "memory":
			s.cfg.Memory = &limitedMemory{left: n}
		case "nosack":
			s.cfg.NoSACK = true
		case "nostamps":
			s.cfg.NoTimestamps = true
		case "noscale":
			s.cfg.NoWindowScaling = true
		case "reno":
			s.cfg.CongestionControl = Reno
		case "probe":
			s.cfg.MTUProbing = map[string]MTUProbing{"blackhole": ProbeOnBlackHole, "always": ProbeAlways, "never": ProbeNever}[value]
		case "ecn":
			s.cfg.ECN = map[string]ECN{"accept": AcceptECN, "ask": RequestECN, "no": NoECN}[value]
		case "tries":
			s.cfg.SYNRetries = n
		case "user":
			s.cfg.UserTimeout = d
		case "uto":
			s.cfg.AdvertiseUserTimeout = true
		case "wait":
			s.cfg.TimeWaitDuration = d
		case "keepidle":
			s.cfg.KeepAliveIdle = d
		case "keepevery":
			s.cfg.KeepAliveInterval = d
		case "keeptries":
			s.cfg.KeepAliveCount = n
		default:
			s.fail("config has no key %q", key)
		}
	}
}

func (s *script) call(words []string) {
	n := 0
	if len(words) > 1 && !s.set(words) {
		n = s.number(words[1])
	}
	switch words[0] {
	case "linger", "user", "keep": // done by set
	case "quick":
		s.checkQuickACKs(n)
	case "urge":
		s.conn.MarkUrgent(n)
		s.conn.Write(s.now, make([]byte, n))
	case "urgent":
		if got := s.conn.UrgentBytes(); got != n {
			s.fail("got %d urgent bytes, want %d", got, n)
		}
	case "memory":
		s.cfg.Memory.(*limitedMemory).left = n
		return
	case "sendsyn":
		s.conn.SendSYN()
	case "limit":
		s.conn.LimitSegments(s.now, n)
	case "mss":
		s.checkNumber("MSS", s.conn.mss, n)
	case "cwnd":
		s.checkNumber("congestion window", s.conn.cwnd.size, n)
	case "syndata":
		if got := s.conn.Info(s.now).SYNData; got != n {
			s.fail("got %d bytes of acknowledged data in the SYN, want %d", got, n)
		}
	case "orphan":
		s.conn.Orphan(s.now)
	case "write":
		if got := s.conn.Write(s.now, make([]byte, n)); got != n {
			s.fail("Write accepted %d bytes, want %d", got, n)
		}
	case "read":
		if got := s.conn.Read(s.now, make([]byte, n+1)); got != n {
			s.fail("Read returned %d bytes, want %d", got, n)
		}
	case "end":
		if !s.conn.AtEnd() {
			s.fail("AtEnd is false, want true")
		}
	case "closewrite":
		s.conn.CloseWrite(s.now)
	case "abort":
		s.conn.Abort(s.now)
	case "nodelay":
		s.conn.SetNoDelay(true)
	case "cork", "uncork":
		s.conn.SetCork(words[0] == "cork")
	default:
		s.fail("unknown step %q", words[0])
	}
	s.flush()
}

// checkQuickACKs checks that n quick ACKs are left; with n = 0 it sets that.
func (s *script) checkQuickACKs(n int) {
	if n == 0 {
		s.conn.quickACKs = 0
	}
	if s.conn.quickACKs != n {
		s.fail("%d quick ACKs are left, want %d", s.conn.quickACKs, n)
	}
}

// checkNumber checks a number of the connection.
func (s *script) checkNumber(name string, got, want int) {
	if got != want {
		s.fail("the %s is %d, want %d", name, got, want)
	}
}

// set changes a setting if the step is one, and reports whether it is.
func (s *script) set(words []string) bool {
	d, _ := time.ParseDuration(words[1])
	switch words[0] {
	case "linger":
		s.conn.SetLinger(d)
	case "user":
		s.conn.SetUserTimeout(d)
	case "keep":
		every, _ := time.ParseDuration(words[2])
		s.conn.SetKeepAlive(s.now, KeepAlive{d, every, s.number(words[3])})
	default:
		return false
	}
	return true
}

func (s *script) flush() {
	if s.batch {
		return
	}
	s.conn.Output(s.now, func(o *OutSegment) {
		c := *o
		c.Payload = [2][]byte{make([]byte, len(o.Payload[0])), make([]byte, len(o.Payload[1]))}
		s.out = append(s.out, c)
	})
}

// pass lets time pass.
func (s *script) pass(text string) {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.fail("%q is not a duration", text)
	}
	for until := s.now.Add(d); s.now < until; {
		if s.conn == nil {
			s.now = until
			return
		}
		next := s.conn.Deadline()
		if next == 0 || next > until {
			s.now = until
			return
		}
		if len(s.out) > 0 {
			s.fail("the end sent %[2]s, %[1]v too early", until.Sub(s.now), s.describe(&s.out[0]))
		}
		s.now = max(s.now, next)
		s.conn.Tick(s.now)
		s.flush()
	}
}

func (s *script) number(word string) int {
	n, err := strconv.Atoi(word)
	if err != nil {
		s.fail("%q is not a number", word)
	}
	return n
}

func (s *script) arrives(words []string) {
	p := s.parse(words, peerISS, s.iss)
	cfg := s.cfg.WithDefaults()
	cookies := len(s.acceptMode) > 0 && s.acceptMode[0] == "cookie"
	if s.await && cookies {
		s.await = false
		o := CookieSYNACK(&cfg, secret, 0, &p.Segment, s.now)
		s.iss, s.out = o.Seq, append(s.out, o)
		return
	}
	if s.await {
		s.await = false
		s.conn = s.accept(&cfg, &p.Segment)
	} else if s.conn == nil {
		s.conn = AcceptCookie(&cfg, secret, 0, &p.Segment, s.now)
		if s.conn == nil {
			return
		}
	} else {
		s.conn.Arrive(s.now, &p.Segment)
	}
	s.flush()
}

// accept opens the connection of a SYN.
func (s *script) accept(cfg *Config, syn *Segment) *Conn {
	if len(s.acceptMode) == 0 {
		return Accept(cfg, s.iss, 0, syn, s.now)
	}
	return AcceptFastOpen(cfg, s.iss, 0, syn, s.cookie(s.acceptMode[1]), s.acceptMode[0] == "fastopen", s.now)
}

// dial opens a connection.
func (s *script) dial(words []string) {
	cfg := s.cfg.WithDefaults()
	if len(words) == 0 {
		s.conn = Dial(&cfg, s.iss, 0)
	} else {
		s.conn = DialFastOpen(&cfg, s.iss, 0, FastOpen{s.cookie(words[1]), s.number(words[2])})
	}
	s.flush()
}

// cookie parses a cookie of Fast Open.
func (s *script) cookie(word string) (c wire.FastOpenCookie) {
	b, _ := hex.DecodeString(strings.Trim(word, "-"))
	c.Length = uint8(copy(c.Bytes[:], b))
	return c
}

// secret is a keyed hash for SYN cookies, good enough for tests.
func secret(kind byte, count uint32) uint32 { return (uint32(kind)<<16 + count + 77) * 2654435761 }
