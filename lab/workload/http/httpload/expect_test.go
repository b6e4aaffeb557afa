package httpload

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestTheExpectedBodyIsReadOrMapped(t *testing.T) {
	for _, size := range []int{0, 1, 4096, mapFrom - 1, mapFrom, mapFrom + 1} {
		name := filepath.Join(t.TempDir(), "file")
		want := bytes.Repeat([]byte("x"), size)
		if err := os.WriteFile(name, want, 0o600); err != nil {
			t.Fatal(err)
		}
		text, release, err := ReadExpected(name)
		if err != nil || text == nil || !bytes.Equal(text, want) {
			t.Fatalf("file of %d bytes: got error %v and %d bytes, want the same bytes", size, err, len(text))
		}
		release()
	}
	for _, name := range []string{t.TempDir(), filepath.Join(t.TempDir(), "none")} {
		if _, _, err := ReadExpected(name); err == nil {
			t.Errorf("%s: got no error, want one: it is not a file", name)
		}
	}
}
