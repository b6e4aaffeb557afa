package search

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"weir/chat/data"
	"weir/chat/log"
	"weir/internal/testsize"
)

// TestWhatIsNotIndexedYetIsFoundAsWhatIs: a search whose index is behind answers as one whose index
// has all.
func TestWhatIsNotIndexedYetIsFoundAsWhatIs(t *testing.T) {
	dir := t.TempDir()
	rooms := []data.Room{{Name: "#a", Path: "rooms/#a"}, {Name: "#b", Path: "rooms/#b"}, {Name: "ann,bob", Path: "direct/ann,bob", Direct: true}}
	var logs []*log.Log
	for _, r := range rooms {
		logs = append(logs, room(t, dir, r.Path))
	}
	random := rand.New(rand.NewPCG(1, 2))
	x := index(t, dir)
	queries := []string{"boat", "boat*", "uber", "über", "BLUE boat", `"blue boat"`, "boat -blue", "лодка", "zurich*", "don't", "k", "from:ann", "from:BOB fish", "日本語", "cafe -a -from",
		"in:#A boat", "in:bob,ann a", "from:ann -boat", "2", "x2", "after:2026-11-21T12:00:00Z before:2026-11-21T12:00:00.2Z boat", "nothing"}
	options := []Options{{}, {Limit: 500}, {Limit: 7, Oldest: true, Messages: true}, {Limit: 500, Oldest: true, Rooms: []string{rooms[0].Path, rooms[2].Path}}}
	// of the options with which each query is asked in a round, at most 4
	asked := testsize.Of(t, "WEIR_SEARCH_OPTIONS", 1)
	for round := range 3 {
		talk(t, random, logs, 60)
		type answer struct{ was, is []string }
		answers := map[string]*answer{}
		ask := func(into func(*answer) *[]string) {
			for i, text := range queries {
				for turn := range asked {
					o := options[(i+round+turn)%len(options)]
					q, err := Parse(text)
					if err != nil {
						t.Fatal(err)
					}
					o.Behind = rooms
					found, err := x.Find(t.Context(), q, o)
					if err != nil {
						t.Fatal(err)
					}
					key := fmt.Sprintf("%s, limit %d, oldest %v", text, o.Limit, o.Oldest)
					if answers[key] == nil {
						answers[key] = &answer{}
					}
					list := into(answers[key])
					for _, r := range found {
						*list = append(*list, fmt.Sprintf("%d %s %s %s %s", r.Time.UnixMilli(), r.Room, r.Nick, r.Snippet, r.MsgID))
					}
					*list = sameTime(*list, o.Limit)
				}
			}
		}
		ask(func(a *answer) *[]string { return &a.was })
		if err := x.Update(t.Context()); err != nil {
			t.Fatal(err)
		}
		ask(func(a *answer) *[]string { return &a.is })
		for key, a := range answers {
			if !slices.Equal(a.was, a.is) {
				t.Fatalf("round %d, %s: before it is indexed %q, then %q", round, key, a.was, a.is)
			}
		}
	}
}

// talk says n things in some rooms, some of which are redacted at once.
func talk(t *testing.T, random *rand.Rand, logs []*log.Log, n int) {
	t.Helper()
	vocabulary := []string{"boat", "Boats", "BLUE", "über", "ÜBER", "uber", "Zürich", "café", "лодка", "Лодка", "don't", "a", "日本語", "\x01ACTION", "naïve", "K", "\u212a", "ﬁsh", "fish", "x2", "²"}
	for range n {
		said += time.Duration(random.IntN(3)) * 700 * time.Microsecond
		var text []string
		for range 1 + random.IntN(6) {
			text = append(text, vocabulary[random.IntN(len(vocabulary))])
		}
		nick := []string{"ann", "Bob", "eve"}[random.IntN(3)]
		body := fmt.Sprintf(":%s!u@h %s #r :%s", nick, []string{"PRIVMSG", "NOTICE", "TOPIC", "TAGMSG"}[random.IntN(4)], strings.Join(text, []string{" ", ", ", "-"}[random.IntN(3)]))
		l := logs[random.IntN(len(logs))]
		b, err := l.Append([]log.Entry{{Time: noon.Add(said), Tags: "account=" + nick, Body: body}})
		if err == nil && random.IntN(10) == 0 {
			err = l.Redact(b.Lines[0].Offset())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// sameTime makes the order of what is of one time that of its text, and leaves out the last time
// where a limit may have cut through it: which messages of one time come first is nobody's promise.
func sameTime(all []string, limit int) []string {
	if limit > 0 && len(all) == limit || limit == 0 && len(all) == 20 {
		last := strings.Fields(all[len(all)-1])[0]
		all = slices.DeleteFunc(all, func(s string) bool { return strings.Fields(s)[0] == last })
	}
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && strings.Fields(all[j])[0] == strings.Fields(all[i])[0] {
			j++
		}
		slices.Sort(all[i:j])
		i = j
	}
	return all
}

// TestTheFilterPassesWhatTheIndexFinds: a letter is found by its small form, its capital and
// without its accents, wherever the index does so.
func TestTheFilterPassesWhatTheIndexFinds(t *testing.T) {
	var all []candidate
	var letters []rune
	for r := rune(0x80); r < 0x2000; r++ { // the scripts that have cases and accents
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			letters = append(letters, r)
			all = append(all, candidate{text: "x" + string(r) + "x"})
		}
	}
	wanted := testsize.Of(t, "WEIR_SEARCH_LETTERS", 6) // at most 26
	for i := range wanted {
		r := rune('a' + i*26/wanted)
		q, err := Parse("x" + string(r) + "x")
		if err != nil {
			t.Fatal(err)
		}
		m, err := newMatcher(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		fits, err := m.matching(t.Context(), all)
		m.close()
		if err != nil {
			t.Fatal(err)
		}
		f := newFilter(q)
		for _, c := range fits {
			if !f.mayFit([]byte(":ann!u@h PRIVMSG #r :" + c.text)) {
				t.Errorf("the index finds %q by %q, the filter keeps it back", c.text, "x"+string(r)+"x")
			}
		}
	}
	for _, r := range letters {
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			q, err := Parse(string(other))
			if err != nil {
				t.Fatal(err)
			}
			if f := newFilter(q); !f.mayFit([]byte(string(r))) {
				t.Errorf("%q is not found by %q", r, other)
			}
		}
	}
}

func TestAnIndexRestsAfterEachBatch(t *testing.T) {
	dir := t.TempDir()
	l := room(t, dir, "rooms/#r")
	if _, err := l.Append(slices.Repeat([]log.Entry{{Time: noon, Body: ":ann!u@h PRIVMSG #r :word"}}, step*2+1)); err != nil {
		t.Fatal(err)
	}
	x := index(t, dir)
	rests := 0
	x.Rest = func(took time.Duration) time.Duration {
		if rests++; took <= 0 {
			t.Errorf("a batch took %v", took)
		}
		return 0
	}
	rooms := []data.Room{{Name: "#r", Path: "rooms/#r"}}
	for want := 1; ; want++ {
		behind, err := x.Follow(t.Context(), rooms)
		if err != nil {
			t.Fatal(err)
		}
		if rests != want {
			t.Errorf("%d rests, want %d", rests, want)
		}
		if len(behind) == 0 {
			break
		}
	}
	if rests != 3 {
		t.Errorf("%d messages were indexed in %d batches, want 3", step*2+1, rests)
	}
}
