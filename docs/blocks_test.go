package docs

import (
	"os"
	"regexp"
	"testing"
)

// block is a fenced block of a document. kind and file are the words after the fence, as in
// "```toml weir.toml".
type block struct{ kind, file, text string }

var fence = regexp.MustCompile("(?ms)^```(\\w+)(?: +(\\S+))?\n(.*?)^```")

// blocks returns the fenced blocks of a document.
func blocks(t *testing.T, document string) []block {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	var all []block
	for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
		all = append(all, block{m[1], m[2], m[3]})
	}
	return all
}
