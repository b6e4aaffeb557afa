package coding

import (
	"strings"
	"testing"
)

func TestChooseFollowsRFC9110(t *testing.T) {
	offered := []string{"br", "zstd", "gzip"}
	for _, c := range []struct {
		accept   string // "-": the field is missing
		want     string
		identity bool
		why      string
	}{
		{"-", "", true, "any content coding is considered acceptable: the plainest then"},
		{"", "", true, "an empty field: the client wants no coding"},
		{"gzip", "gzip", true, "one that is offered"},
		{"compress", "", true, "one that is not"},
		{"gzip, deflate, br, zstd", "br", true, "equal weights: the server's order"},
		{"br;q=0.5, gzip;q=0.8", "gzip", true, "the greater weight"},
		{"br;q=0.5,gzip;q=0.50", "br", true, "equal, however they are written"},
		{"*", "br", true, "* is every coding not listed"},
		{"*;q=0.1, gzip", "gzip", true, "a listed one is not meant by *"},
		{"br;q=0, *", "zstd", true, "refused by name"},
		{"*;q=0", "", false, "identity too is refused by *;q=0"},
		{"*;q=0, identity", "", true, "but not where it is listed"},
		{"identity;q=0", "", false, "refused, and nothing else accepted"},
		{"identity;q=0, gzip", "gzip", false, ""},
		{"identity;q=0, *;q=0.1", "br", false, ""},
		{"gzip;q=0.5, identity", "", true, "identity is preferred"},
		{"gzip;q=0.5, identity;q=0.5", "gzip", true, "equal: a coding"},
		{"GZIP", "gzip", true, "names are case-insensitive"},
		{"x-gzip", "gzip", true, "an alias"},
		{" gzip ; q=0.9 , ,", "gzip", true, "white space and empty elements"},
		{"gzip;q=1.0000", "", true, "malformed: passed over"},
		{"gzip;q=2", "", true, "more than 1"},
		{"gzip;q=1.5", "", true, "more than 1"},
		{"gzip;q=", "", true, "no number"},
		{"gzip;q=.5", "", true, "no number"},
		{"gzip;level=9", "", true, "no weight"},
		{"gzip;Q=0.5", "gzip", true, "in either case"},
	} {
		accept := strings.Split(c.accept, "\n")
		if c.accept == "-" {
			accept = nil
		}
		i, identity := Choose(accept, offered)
		got := ""
		if i >= 0 {
			got = offered[i]
		}
		if got != c.want || identity != c.identity {
			t.Errorf("Accept-Encoding: %s: %q, identity %v, want %q, %v: %s", c.accept, got, identity, c.want, c.identity, c.why)
		}
	}
	if i, _ := Choose([]string{"deflate", "gzip"}, offered); i != 2 {
		t.Errorf("two lines are one list: %d, want 2", i)
	}
}

func FuzzChoose(f *testing.F) {
	f.Add("gzip;q=0.5, br, *;q=0")
	f.Fuzz(func(t *testing.T, accept string) {
		i, identity := Choose([]string{accept}, []string{"br", "gzip"})
		if i < -1 || i > 1 {
			t.Fatalf("got index %d, want -1, 0 or 1", i)
		}
		if !identity && !strings.Contains(accept, "0") {
			t.Fatalf("%q: got identity refused, want it accepted: no weight is 0", accept)
		}
		if j, same := Choose(strings.Split(accept, ","), []string{"br", "gzip"}); i != j || identity != same {
			t.Fatalf("%q: got %d, %v as one line and %d, %v as several, want the same", accept, i, identity, j, same)
		}
	})
}

func TestChooseDoesNotAllocate(t *testing.T) {
	accept, offered := []string{"gzip, deflate, br;q=0.9"}, []string{"br", "gzip"}
	if n := testing.AllocsPerRun(100, func() { Choose(accept, offered) }); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}
