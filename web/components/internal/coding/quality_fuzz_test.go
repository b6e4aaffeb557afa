package coding

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// weights is the grammar of RFC 9110 section 12.4.2.
var weights = regexp.MustCompile(`^[qQ]=(0(\.[0-9]{0,3})?|1(\.0{0,3})?)$`)

// FuzzQuality holds weights against their grammar.
func FuzzQuality(f *testing.F) {
	for _, seed := range []string{"", "q=1", "q=0.5", "Q=0.", "q=1.001", "q=0.0000", "q=.5", "q=2", "q =1", "q=1;q=0", "q=0x1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q, ok := quality(s)
		if s == "" {
			if q != 1000 || !ok {
				t.Fatalf("no weight: got %d, %v, want 1000 (RFC 9110, 12.4.2)", q, ok)
			}
			return
		}
		m := weights.FindStringSubmatch(s)
		if ok != (m != nil) {
			t.Fatalf("%q: got %d, %v, want it accepted exactly if the grammar has it (RFC 9110, 12.4.2)", s, q, ok)
		}
		if !ok {
			return
		}
		if want, err := strconv.ParseFloat(m[1], 64); err != nil || q != int(math.Round(want*1000)) {
			t.Fatalf("%q: %d, want %v", s, q, want)
		}
	})
}

// FuzzHasToken holds that a list is the same on one line and on several, in any case, and that only
// whole tokens are found.
func FuzzHasToken(f *testing.F) {
	for _, seed := range [][2]string{{"no-cache, max-age=3", "max-age"}, {"a;b=c", "b"}, {"", ""}, {"close ,\tKeep-Alive", "keep-alive"}, {"aa", "a"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, list, token string) {
		got := HasToken([]string{list}, token)
		if several := HasToken(strings.Split(list, ","), token); several != got {
			t.Fatalf("%q in %q: got %v on one line and %v on several, want the same", token, list, got, several)
		}
		if got && !strings.Contains(strings.ToLower(strings.ToUpper(list)), strings.ToLower(strings.ToUpper(token))) {
			t.Fatalf("%q in %q: got true, want false: the list does not contain the text", token, list)
		}
		if plain := regexp.MustCompile(`^[a-z-]+$`).MatchString(token); plain && !HasToken([]string{list + "," + strings.ToUpper(token) + " ; x"}, token) {
			t.Fatalf("%q appended to %q: got false, want true", token, list)
		}
	})
}
