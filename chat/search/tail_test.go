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

// TestUnindexedMessagesAreFoundLikeIndexedOnes compares the results of each query before and after
// the messages are indexed.
func TestUnindexedMessagesAreFoundLikeIndexedOnes(t *testing.T) {
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
	options := []Options{{Snippets: true}, {Limit: 500}, {Limit: 7, OldestFirst: true, MessagesOnly: true}, {Limit: 500, Snippets: true, OldestFirst: true, RoomPaths: []string{rooms[0].Path, rooms[2].Path}}}
	// Number of options per query and round, at most 4.
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
					o.Lagging = rooms
					found, err := x.Find(t.Context(), q, o)
					if err != nil {
						t.Fatal(err)
					}
					key := fmt.Sprintf("%s, limit %d, oldest %v", text, o.Limit, o.OldestFirst)
					if answers[key] == nil {
						answers[key] = &answer{}
					}
					list := into(answers[key])
					for _, r := range found {
						if o.Snippets != (r.Snippet != "") {
							t.Errorf("%s: got the snippet %q, want one: %v", text, r.Snippet, o.Snippets)
						}
						*list = append(*list, fmt.Sprintf("%d %s %s %s %s", r.Time.UnixMilli(), r.Room, r.Nick, r.Snippet, r.MsgID))
					}
					*list = sortSameTime(*list, o.Limit)
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
				t.Fatalf("round %d, %s: results before indexing %q, after indexing %q; want the same", round, key, a.was, a.is)
			}
		}
	}
}

// talk appends n random messages to the rooms and redacts some of them.
func talk(t *testing.T, random *rand.Rand, logs []*log.Log, n int) {
	t.Helper()
	vocabulary := []string{"boat", "Boats", "BLUE", "über", "ÜBER", "uber", "Zürich", "café", "лодка", "Лодка", "don't", "a", "日本語", "\x01ACTION", "naïve", "K", "\u212a", "ﬁsh", "fish", "x2", "²"}
	for range n {
		sinceNoon += time.Duration(random.IntN(3)) * 700 * time.Microsecond
		var text []string
		for range 1 + random.IntN(6) {
			text = append(text, vocabulary[random.IntN(len(vocabulary))])
		}
		nick := []string{"ann", "Bob", "eve"}[random.IntN(3)]
		body := fmt.Sprintf(":%s!u@h %s #r :%s", nick, []string{"PRIVMSG", "NOTICE", "TOPIC", "TAGMSG"}[random.IntN(4)], strings.Join(text, []string{" ", ", ", "-"}[random.IntN(3)]))
		l := logs[random.IntN(len(logs))]
		b, err := l.Append([]log.Entry{{Time: noon.Add(sinceNoon), Tags: "account=" + nick, Body: body}})
		if err == nil && random.IntN(10) == 0 {
			err = l.Redact(b.Lines[0].Offset())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// sortSameTime sorts results of the same time by their text, because their order is not specified.
// It drops results of the last time where the limit may have cut through them.
func sortSameTime(all []string, limit int) []string {
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

// TestFilterNeverRejectsAnIndexMatch: the filter accepts a letter in each case, and without
// accents, wherever the index matches it.
func TestFilterNeverRejectsAnIndexMatch(t *testing.T) {
	var all []candidate
	var letters []rune
	for r := rune(0x80); r < 0x2000; r++ { // the scripts that have case and accents
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
		m, err := newMatcher(t.Context(), q, Options{})
		if err != nil {
			t.Fatal(err)
		}
		fits, err := m.filterCandidates(t.Context(), all)
		m.close()
		if err != nil {
			t.Fatal(err)
		}
		f := newLineFilter(q)
		for _, c := range fits {
			if !f.mayMatch([]byte(":ann!u@h PRIVMSG #r :" + c.text)) {
				t.Errorf("filter for the query %q: got %q rejected, want it accepted, as the index matches it", "x"+string(r)+"x", c.text)
			}
		}
	}
	for _, r := range letters {
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			q, err := Parse(string(other))
			if err != nil {
				t.Fatal(err)
			}
			if f := newLineFilter(q); !f.mayMatch([]byte(string(r))) {
				t.Errorf("filter for the query %q: got %q rejected, want it accepted, as only the case differs", other, r)
			}
		}
	}
}

func TestPauseIsCalledAfterEachBatch(t *testing.T) {
	dir := t.TempDir()
	l := room(t, dir, "rooms/#r")
	if _, err := l.Append(slices.Repeat([]log.Entry{{Time: noon, Body: ":ann!u@h PRIVMSG #r :word"}}, batchLines*2+1)); err != nil {
		t.Fatal(err)
	}
	x := index(t, dir)
	rests := 0
	x.Pause = func(took time.Duration) time.Duration {
		if rests++; took <= 0 {
			t.Errorf("duration of a batch: got %v, want more than 0", took)
		}
		return 0
	}
	rooms := []data.Room{{Name: "#r", Path: "rooms/#r"}}
	for want := 1; ; want++ {
		behind, err := x.IndexRooms(t.Context(), rooms)
		if err != nil {
			t.Fatal(err)
		}
		if rests != want {
			t.Errorf("pauses: got %d, want %d", rests, want)
		}
		if len(behind) == 0 {
			break
		}
	}
	if rests != 3 {
		t.Errorf("batches for %d messages: got %d, want 3", batchLines*2+1, rests)
	}
}
