package chatload

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

func TestTextsAreDecodedAsEncoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ts := newTexts(makeMark(rapid.Uint64().Draw(t, "random")), rapid.IntRange(MinSize, MaxSize).Draw(t, "size"))
		sender, number := rapid.Uint32().Draw(t, "sender"), rapid.Uint32().Draw(t, "number")
		line := ts.append([]byte(":a!b@c PRIVMSG #r :"), sender, number)
		at, ok := ts.find(line)
		if !ok || at != len(line)-ts.size {
			t.Fatalf("got no text in %q, want the one that was appended", line)
		}
		if s, n, ok := ts.read(line[at:]); !ok || s != sender || n != number {
			t.Fatalf("%q: got sender %d, number %d, valid %t; want %d, %d, true", line, s, n, ok, sender, number)
		}
		i := at + rapid.IntRange(senderAt, ts.size-1).Draw(t, "place")
		line[i] ^= 0x80
		if _, _, ok := ts.read(line[at:]); ok {
			t.Fatalf("the changed text %q was accepted, want it rejected", line)
		}
	})
}

func TestLinesAreParsed(t *testing.T) {
	for line, want := range map[string][]string{ // tags, source, command, parameters
		"PING :abc":                         {"", "", "PING", "abc"},
		":s 366 me #r :End of /NAMES":       {"", "s", "366", "me", "#r", "End of /NAMES"},
		"@a=1;b :n!u@h PRIVMSG #r :x y":     {"a=1;b", "n!u@h", "PRIVMSG", "#r", "x y"},
		":s  CAP   * LS  * :x":              {"", "s", "CAP", "*", "LS", "*", "x"},
		"A b c d e f g h i j k l m n o p q": {"", "", "A", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p q"},
		"":                                  {"", "", ""},
	} {
		p := parse([]byte(line))
		got := append([]string{string(p.tags), string(p.source), string(p.command)}, texts15(&p)...)
		if len(got) != len(want) {
			t.Errorf("%q: got %q, want %q", line, got, want)
			continue
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%q: got %q, want %q", line, got, want)
			}
		}
	}
	p := parse([]byte("@a=1;msgid=x-9;b PRIVMSG #r :x"))
	if string(p.tag("msgid")) != "x-9" || p.tag("c") != nil {
		t.Errorf("got the tags msgid %q and c %q, want x-9 and none", p.tag("msgid"), p.tag("c"))
	}
}

func texts15(p *lineOf) (all []string) {
	for _, w := range p.params[:p.n] {
		all = append(all, string(w))
	}
	return all
}

// FuzzParse: the parts are in the line, and nothing but blanks is lost.
func FuzzParse(f *testing.F) {
	f.Add([]byte("@a=1 :s PRIVMSG #r :x y"))
	f.Add([]byte(":"))
	f.Add([]byte("@ : "))
	f.Fuzz(func(t *testing.T, line []byte) {
		p := parse(line)
		if p.n > len(p.params) || bytes.ContainsRune(p.command, ' ') {
			t.Fatalf("got %+v, want a command without spaces and no more parameters than there is room for", p)
		}
		p.tag("msgid")
		p.last()
		p.param(20)
	})
}
