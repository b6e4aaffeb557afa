package site

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclparse"
)

// FuzzDepth checks that a text within the limit can be parsed without a stack overflow, and that
// the error for others has a position.
func FuzzDepth(f *testing.F) {
	for _, seed := range []string{
		"files { dir = \"www\" }", strings.Repeat("a {\n", 200), "a = " + strings.Repeat("(", 99), "a = " + strings.Repeat("-", 200) + "1", "a = \"" + strings.Repeat("${\"", 60),
		"a = <<E\n" + strings.Repeat("%{if x}", 60) + "\nE\n", strings.Repeat("!", 101), "a = [[[{}]]]",
	} {
		f.Add(seed, uint8(1))
		f.Add(seed, uint8(9))
	}
	f.Fuzz(func(t *testing.T, text string, times uint8) {
		text = strings.Repeat(text, int(times))
		if len(text) > 4<<10 { // the HCL parser is slow on long invalid text
			return
		}
		at, deep := findTooDeep([]byte(text), "site.hcl")
		if !deep {
			_, _ = hclparse.NewParser().ParseHCL([]byte(text), "site.hcl")
			return
		}
		if at.Filename != "site.hcl" || at.Start.Byte > len(text) {
			t.Fatalf("got the place %v, want one within site.hcl", at)
		}
		if _, err := Parse("site.hcl", []byte(text), nil); err == nil || !strings.Contains(err.Error(), "too deep") {
			t.Fatalf("Parse of a text that is too deep: got %v, want an error that says so", err)
		}
	})
}
