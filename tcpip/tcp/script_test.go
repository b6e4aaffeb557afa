package tcp

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
//	accept cookie         accept with a SYN cookie: no connection exists, and its state is NONE,
//	                      until the cookie is returned
//	< FLAGS seq N [ack N] [win N] [len N] [mss N] [scale N] [sackok] [ce] [urg N] [uto SECONDS]
//	[ts N ecr N] [sack A-B...]
//	                      the peer sends
//	> FLAGS ...           the end must send exactly this, now; fields that are not named are not
//	                      compared, except len
//	> ... ect             an ECN-capable segment; without ect, it must not be ECN-capable
//	> ... nots            a segment without timestamps
//	> nothing             the end must send nothing now
//	+DURATION             time passes; timers run, and must send nothing before its end
//	write N | read N | closewrite | abort | nodelay | cork | uncork
//	                      calls of the application; read checks how many bytes there are
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
	t       *testing.T
	name    string
	line    int
	cfg     Config
	conn    *Conn
	now     Time
	out     []OutSegment
	await   bool // accept waits for the SYN
	iss     wire.Seq
	cookies bool // the listener answers with SYN cookies
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
	case words[0] == "dial":
		cfg := s.cfg.WithDefaults()
		s.conn = Dial(&cfg, s.iss, 0)
		s.flush()
	case words[0] == "accept":
		s.await, s.cookies = true, len(words) > 1
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

// flags parses names joined by |; - stands for none.
func (s *script) flags(text string) (f wire.Flags) {
	for _, name := range strings.Split(text, "|") {
		i := slices.Index(flagNames[:], name)
		if i < 0 && name != "-" {
			s.fail("%q is not a flag", name)
		}
		if i >= 0 {
			f |= 1 << i
		}
	}
	return f
}

// scripted is a segment of a script.
type scripted struct {
	Segment
	has  map[string]bool
	size int
}

// parse parses a segment of a script.
func (s *script) parse(words []string, from, to wire.Seq) scripted {
	p := scripted{has: map[string]bool{}}
	p.Flags = s.flags(words[0])
	p.Window = 65535
	o := &p.Options
	for i := 1; i < len(words); i++ {
		key := words[i]
		p.has[key] = true
		switch key {
		case "sackok", "ce", "ect", "nots":
			o.SACKPermitted, p.CE = o.SACKPermitted || key == "sackok", p.CE || key == "ce"
			continue
		}
		if key == "sack" {
			for ; i+1 < len(words); i++ {
				a, b, ok := strings.Cut(words[i+1], "-")
				if !ok {
					break
				}
				o.SACK[o.SACKCount] = wire.Block{First: to.Add(s.number(a)), End: to.Add(s.number(b))}
				o.SACKCount++
			}
			continue
		}
		if i++; i == len(words) {
			s.fail("%q needs a number", key)
		}
		n := s.number(words[i])
		switch key {
		case "seq":
			p.Seq = from.Add(n)
		case "ack":
			p.Ack = to.Add(n)
		case "win":
			p.Window = uint16(n)
		case "urg":
			p.Urgent = uint16(n)
		case "uto":
			o.UserTimeout = time.Duration(n) * time.Second
		case "len":
			p.Payload = make([]byte, n)
		case "size":
			p.size = n
		case "mss":
			o.MSS = uint16(n)
		case "scale":
			o.HasWindowScale, o.WindowScale = true, uint8(n)
		case "ts":
			o.HasTimestamps, o.TSVal = true, wire.Timestamp(n)
		case "ecr":
			o.TSEcr = wire.Timestamp(n)
		default:
			s.fail("unknown field %q of a segment", key)
		}
	}
	return p
}

var flagNames = [...]string{"FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"}

func (s *script) arrives(words []string) {
	p := s.parse(words, peerISS, s.iss)
	cfg := s.cfg.WithDefaults()
	if s.await && s.cookies {
		s.await = false
		o := CookieSYNACK(&cfg, secret, 0, &p.Segment, s.now)
		s.iss, s.out = o.Seq, append(s.out, o)
		return
	}
	if s.await {
		s.await = false
		s.conn = Accept(&cfg, s.iss, 0, &p.Segment, s.now)
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

// secret is a keyed hash for SYN cookies, good enough for tests.
func secret(kind byte, count uint32) uint32 { return (uint32(kind)<<16 + count + 77) * 2654435761 }

func (s *script) sends(words []string) {
	s.t.Helper()
	if words[0] == "nothing" {
		if len(s.out) > 0 {
			s.fail("the end sent %s, want nothing", s.describe(&s.out[0]))
		}
		return
	}
	want := s.parse(words, s.iss, peerISS)
	if len(s.out) == 0 {
		s.fail("the end sent nothing, want %s", strings.Join(words, " "))
	}
	got := s.out[0]
	s.out = s.out[1:]
	o, w := &got.Options, &want.Options
	differs := got.Flags != want.Flags || got.Len() != len(want.Payload) ||
		want.has["seq"] && got.Seq != want.Seq || want.has["ack"] && got.Ack != want.Ack || want.has["win"] && got.Window != want.Window ||
		want.has["mss"] && o.MSS != w.MSS || want.has["scale"] && (!o.HasWindowScale || o.WindowScale != w.WindowScale) || want.has["sackok"] && !o.SACKPermitted ||
		want.has["nots"] && o.HasTimestamps || want.has["ect"] != got.ECT || o.UserTimeout != w.UserTimeout || want.Flags&wire.URG != 0 && got.Urgent != want.Urgent || want.has["ts"] && (!o.HasTimestamps || o.TSVal != w.TSVal) || want.has["ecr"] && o.TSEcr != w.TSEcr || want.has["size"] && got.SegmentSize != want.size ||
		o.SACKCount != w.SACKCount || o.SACK != w.SACK
	if differs {
		s.fail("the end sent %s, want %s", s.describe(&got), strings.Join(words, " "))
	}
}

func (s *script) describe(o *OutSegment) string {
	text := fmt.Sprintf("%v seq %d ack %d win %d len %d", o.Flags, o.Seq.Sub(s.iss), o.Ack.Sub(peerISS), o.Window, o.Len())
	if o.Flags&wire.ACK == 0 {
		text = fmt.Sprintf("%v seq %d win %d len %d", o.Flags, o.Seq.Sub(s.iss), o.Window, o.Len())
	}
	if o.Options.MSS > 0 {
		text += fmt.Sprintf(" mss %d", o.Options.MSS)
	}
	if o.Options.HasWindowScale {
		text += fmt.Sprintf(" scale %d", o.Options.WindowScale)
	}
	if o.Options.SACKPermitted {
		text += " sackok"
	}
	if o.Options.HasTimestamps {
		text += fmt.Sprintf(" ts %d ecr %d", o.Options.TSVal, o.Options.TSEcr)
	}
	if o.Options.UserTimeout > 0 {
		text += fmt.Sprint(" uto ", o.Options.UserTimeout.Seconds())
	}
	if o.ECT {
		text += " ect"
	}
	if o.Flags&wire.URG != 0 {
		text += fmt.Sprintf(" urg %d", o.Urgent)
	}
	if o.SegmentSize > 0 {
		text += fmt.Sprintf(" size %d", o.SegmentSize)
	}
	for i, b := range o.Options.SACKBlocks() {
		if i == 0 {
			text += " sack"
		}
		text += fmt.Sprintf(" %d-%d", b.First.Sub(peerISS), b.End.Sub(peerISS))
	}
	return text
}
