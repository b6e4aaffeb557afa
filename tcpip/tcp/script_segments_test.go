package tcp

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/wire"
)

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
	p := scripted{Segment: Segment{Flags: s.flags(words[0]), Window: 65535}, has: map[string]bool{}}
	o := &p.Options
	for i := 1; i < len(words); i++ {
		key := words[i]
		p.has[key] = true
		switch key {
		case "fo":
			i++
			o.HasFastOpen, o.FastOpen = true, s.cookie(words[i])
			continue
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
		o.HasFastOpen != w.HasFastOpen || o.FastOpen != w.FastOpen || o.SACKCount != w.SACKCount || o.SACK != w.SACK
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
	if o.Options.HasFastOpen {
		text += fmt.Sprintf(" fo %x-", o.Options.FastOpen.Bytes[:o.Options.FastOpen.Length])
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
