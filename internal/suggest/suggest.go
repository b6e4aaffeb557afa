// Package suggest finds the name that a mistyped word probably stands for.
//
// Limitations: it counts changed letters. Two letters that are swapped are two changes, and words
// of like meaning are not near.
package suggest

import (
	"fmt"
	"strings"

	"github.com/agext/levenshtein"
)

// Nearest returns the name that is nearest to a mistyped word, and "" if none is near: a word may
// differ by two letters in five, and by three at most.
func Nearest(word string, names []string) string {
	nearest, least := "", min(3, max(1, 2*len([]rune(word))/5))+1
	for _, name := range names {
		if d := levenshtein.Distance(strings.ToLower(word), strings.ToLower(name), nil); d < least {
			nearest, least = name, d
		}
	}
	return nearest
}

// DidYouMean returns the end of an error's sentence, `; did you mean "NAME"?`, and "" if no name is
// near.
func DidYouMean(word string, names []string) string {
	if name := Nearest(word, names); name != "" {
		return fmt.Sprintf("; did you mean %q?", name)
	}
	return ""
}
