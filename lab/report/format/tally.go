package format

import (
	"cmp"
	"fmt"
	"slices"
)

// Tally counts words. The zero value is empty.
type Tally struct {
	Words  []string // in the order in which they were first added
	counts map[string]int64
}

// Add adds n to the count of a word, and returns the count.
func (t *Tally) Add(word string, n int64) int64 {
	if t.counts == nil {
		t.counts = map[string]int64{}
	}
	if _, ok := t.counts[word]; !ok {
		t.Words = append(t.Words, word)
	}
	t.counts[word] += n
	return t.counts[word]
}

// ByCount sorts the words, the most frequent first, and returns t.
func (t *Tally) ByCount() *Tally {
	slices.SortFunc(t.Words, func(a, b string) int { return cmp.Or(cmp.Compare(t.counts[b], t.counts[a]), cmp.Compare(a, b)) })
	return t
}

// Phrases formats each word with its count, by a layout such as "%s (%s)".
func (t *Tally) Phrases(layout string) []string {
	phrases := make([]string, len(t.Words))
	for i, w := range t.Words {
		phrases[i] = fmt.Sprintf(layout, w, Count(t.counts[w]))
	}
	return phrases
}
