package log

import (
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write docs/vectors/log again")

const vectors = "../../docs/vectors/log"

// vector is a folder of docs/vectors/log: the files of a room, and what is found in them.
type vector struct {
	name, about string
	segments    []piece
	committed   []uint64 // COMMITTED and END; nil: there is no such file
	expect      []string // beside the lines
	want        []int64  // the offsets of the lines that are found
}

// piece is a segment: its base and its bytes.
type piece struct {
	base int64
	data []byte
}

// everyKind has a line of every kind, in the order of docs/vectors/log/plain.
var everyKind = []Entry{
	{at(0), "", ":ann!u@host.example PRIVMSG #room :hello"},
	{at(0), "account=ann", ":ann!u@host.example PRIVMSG #room :the same millisecond"},
	{at(1500), `account=bob;+draft/reply=abcdefgh-0`, ":bob!~b@10.0.0.1 PRIVMSG #room :an answer; with = and :colons: in it"},
	{at(2000), `account=bob;note=semicolon\:\sspace\s\\\sdone`, ":bob!~b@10.0.0.1 NOTICE #room :tags are escaped"},
	{at(1000), "", ":ann!u@host.example PRIVMSG #room :Grüße, 你好, 👋🏽 (the clock went back: this line has the time of the one before)"},
	{at(86400_000), "", ":carl!c@2001:db8::1 TOPIC #room :what we talk about"},
	{at(86400_001), "account=ann;+draft/react=👍;+draft/reply=abcdefgh-0", ":ann!u@host.example TAGMSG #room"},
	{at(86400_002), "", ":ann!u@host.example PRIVMSG #room :"},
	{at(86400_003), "", ":a PRIVMSG b :x"},
	{at(86400_004), "account=ann", ":ann!u@host.example PRIVMSG #room oneword"},
	{at(86400_005), "account=ann", ":ann!u@host.example PRIVMSG #room :" + strings.Repeat("long ", 80)},
}

func at(milli int) time.Time {
	return time.Date(2026, 11, 21, 11, 30, 0, 0, time.UTC).Add(time.Duration(milli) * time.Millisecond)
}

// lines encodes entries from an offset on.
func lines(t testing.TB, base int64, entries ...Entry) (data []byte, offsets []int64) {
	t.Helper()
	x, last := encoder{id: "abcdefgh"}, int64(0)
	for _, e := range entries {
		offset := base + int64(len(data))
		var err error
		if data, last, err = x.append(data, &e, offset, last); err != nil {
			t.Fatal(err)
		}
		offsets = append(offsets, offset)
	}
	return data, offsets
}

// makeVectors is what docs/vectors/log holds.
func makeVectors(t testing.TB) []vector {
	plain, all := lines(t, 0, everyKind...)
	three, offsets := lines(t, 0, everyKind[:3]...)
	end := int64(len(three))
	more, later := lines(t, end, everyKind[3:5]...)
	far, farther := lines(t, 5000, everyKind[5:7]...)
	vs := []vector{
		{name: "empty", about: "A new room: nothing is found, and the first line goes to 0.",
			segments: []piece{{0, nil}}, expect: []string{"end 0", "next 0"}},
		{name: "plain", about: "Lines of every kind: tags, escaped tags, UTF-8, an empty text, a line so short that it is padded.",
			segments: []piece{{0, plain}}, want: all, expect: ends(plain, plain)},
		redactedVector(t, plain, all),
		{name: "segments", about: "Three segments; the offsets between the second and the third were cut away and are not used again.",
			segments: []piece{{0, three}, {end, more}, {5000, far}}, want: join(offsets, later, farther),
			expect: []string{fmt.Sprint("end ", 5000+len(far)), fmt.Sprint("next ", 5000+len(far))}},
	}
	vs = append(vs, tornVectors(three, offsets)...)
	vs = append(vs,
		vector{name: "padded", about: "A busy room: zeros behind the last line, which the next one overwrites. They are no torn tail.",
			segments: []piece{{0, padded(three, 1500)}}, want: offsets, expect: ends(three, three)},
		vector{name: "padded-only", about: "The last segment has padding and no line.",
			segments: []piece{{0, three}, {end, padded(nil, 4096)}}, want: offsets, expect: ends(three, three)},
		vector{name: "padded-cut", about: "A segment with padding that has a successor: it ends where that begins, and what it has beyond is no fault.",
			segments: []piece{{0, padded(three, 1500)}, {end, more}}, want: join(offsets, later),
			expect: []string{fmt.Sprint("end ", len(three)+len(more)), fmt.Sprint("next ", len(three)+len(more))}},
	)
	flipped := append([]byte{}, three...)
	flipped[offsets[1]+100] ^= 4
	vs = append(vs,
		vector{name: "corrupt", about: "A bit of the second line changed on the disk. It is skipped, what follows is found, and nothing is cut.",
			segments: []piece{{0, flipped}}, want: []int64{offsets[0], offsets[2]},
			expect: append(ends(three, three), fmt.Sprintf("bad %d %d", offsets[1], offsets[2]-offsets[1]))},
		vector{name: "corrupt-before", about: "The same in a segment that is not the last.",
			segments: []piece{{0, flipped}, {end, more}}, want: join(offsets[:1], offsets[2:], later),
			expect: []string{fmt.Sprint("end ", len(three)+len(more)), fmt.Sprint("next ", len(three)+len(more)), fmt.Sprintf("bad %d %d", offsets[1], offsets[2]-offsets[1])}},
		vector{name: "moved", about: "Whole lines that do not stand at the place that their msgid says: none is found.",
			segments: []piece{{40, three}}, expect: []string{"end 40"}},
		vector{name: "cut-begun", about: "A writer began to cut a torn tail: the next segment is there, the tail still is too.",
			segments: []piece{{0, three[:end-5]}, {end - 5, nil}}, want: offsets[:2],
			expect: []string{fmt.Sprint("end ", offsets[2]), fmt.Sprint("next ", end-5), fmt.Sprint("cut 0 ", offsets[2])}},
		vector{name: "overlap", about: "A segment ends where the next begins, whatever bytes it still has beyond.",
			segments: []piece{{0, append(append([]byte{}, three...), more...)}, {end, more}}, want: join(offsets, later),
			expect: []string{fmt.Sprint("end ", len(three)+len(more)), fmt.Sprint("next ", len(three)+len(more))}},
		vector{name: "committed", about: "A writer was killed: readers stop at COMMITTED; the next writer keeps the line that is whole and cuts the torn one.",
			segments: []piece{{0, three[:end-30]}}, committed: []uint64{uint64(offsets[1]), uint64(offsets[1])}, want: offsets[:1],
			expect: []string{fmt.Sprint("end ", offsets[1]), fmt.Sprint("next ", end-30), fmt.Sprint("cut 0 ", offsets[2]), fmt.Sprint("kept ", offsets[1])}},
	)
	return vs
}

// ends says where reading ends and writing goes on.
func ends(whole, physical []byte) []string {
	return []string{fmt.Sprint("end ", len(whole)), fmt.Sprint("next ", len(physical))}
}

func redactedVector(t testing.TB, plain []byte, all []int64) vector {
	data := append([]byte{}, plain...)
	v := vector{name: "redacted", about: "plain, with the third, the seventh and the ninth line redacted: every other byte is the same.", want: all, expect: ends(plain, plain)}
	for _, i := range []int{2, 6, 8} {
		l, _ := parseLine(plain[all[i]:all[i+1]])
		r, ok := redacted(l)
		if !ok {
			t.Fatalf("redacted(%q): got false, want true", l)
		}
		copy(data[all[i]:], r)
		v.expect = append(v.expect, fmt.Sprint("redacted ", all[i]))
	}
	v.segments = []piece{{0, data}}
	return v
}

func tornVectors(three []byte, offsets []int64) []vector {
	end := len(three)
	torn := func(name, about string, data []byte) vector {
		whole := three[:offsets[2]]
		return vector{name: name, about: about, segments: []piece{{0, data}}, want: offsets[:2],
			expect: append(ends(whole, data), fmt.Sprint("cut 0 ", len(whole)))}
	}
	wrong := append([]byte{}, three...)
	wrong[offsets[2]+120] ^= 1
	hole := append([]byte{}, three...)
	clear(hole[offsets[2] : offsets[2]+50])
	zeros := func(v vector, data []byte) vector { // padding, which is not counted
		v.segments[0].data = padded(data, 300)
		return v
	}
	return []vector{
		torn("torn", "The last line is torn in the middle.", three[:end-40]),
		torn("torn-lf", "Only the last LF is missing.", three[:end-1]),
		torn("torn-sum", "The last line has an end, but not the bytes that its sum is of.", wrong),
		zeros(torn("torn-zeros", "The last line is torn, and zeros follow: padding, or the file got longer before its bytes came, as after a loss of power.", three[:offsets[2]+30]), three[:offsets[2]+30]),
		hollow(three, offsets),
		zeros(torn("torn-hole", "The begin of the last line is zeros, its end is there, and padding follows: a loss of power tore a batch in the padding.", hole), hole),
	}
}

// hollow is a vector with a hole and a whole line behind it.
func hollow(three []byte, offsets []int64) vector {
	data := append([]byte{}, three...)
	clear(data[offsets[1]+20 : offsets[1]+70])
	whole := three[:offsets[1]]
	return vector{name: "torn-before", segments: []piece{{0, padded(data, 300)}}, want: offsets[:1],
		about:  "Two lines in the padding, of which a loss of power has kept the second: neither was acknowledged, and both are cut.",
		expect: append(ends(whole, three), fmt.Sprint("cut 0 ", len(whole)))}
}

// padded returns data with zeros behind it.
func padded(data []byte, n int) []byte { return append(data[:len(data):len(data)], make([]byte, n)...) }

func join(lists ...[]int64) (all []int64) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// expectation is the text of the file expect.
func (v *vector) expectation(t testing.TB) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\nid abcdefgh\nfirst %d\n", v.about, v.segments[0].base)
	for _, line := range v.expect {
		fmt.Fprintln(&b, line)
	}
	for _, offset := range v.want {
		l := v.line(t, offset)
		fmt.Fprintf(&b, "line %d %d %s\n", offset, len(l), l[sumAt:sumAt+8])
	}
	return b.String()
}

func (v *vector) line(t testing.TB, offset int64) Line {
	for i := len(v.segments) - 1; i >= 0; i-- {
		if s := v.segments[i]; s.base <= offset {
			b := s.data[offset-s.base:]
			l, ok := parseLine(b[:strings.IndexByte(string(b), '\n')+1])
			if !ok {
				t.Fatalf("vector %s: got no valid line at offset %d, want one", v.name, offset)
			}
			return l
		}
	}
	return nil
}

func (v *vector) write(t testing.TB, root string) {
	dir := filepath.Join(root, v.name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	put := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("id", []byte("abcdefgh\n"))
	for _, s := range v.segments {
		put(segmentName(s.base), s.data)
	}
	if v.committed != nil {
		put("committed", binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, v.committed[0]), v.committed[1]))
	}
	put("expect", []byte(v.expectation(t)))
}
