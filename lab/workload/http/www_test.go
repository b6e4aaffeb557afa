package http

import (
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestServedFilesAreDeterministic(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		www, err := makeWWW(dir)
		check(t, err)
		for name, want := range map[string]int{pageFile: 174, textFile: 4096} {
			b, err := os.ReadFile(filepath.Join(www, name))
			check(t, err)
			if len(b) != want || !strings.HasPrefix(string(b), "<!DOCTYPE html>") || !strings.HasSuffix(string(b), "</html>\n") {
				t.Errorf("%s: got %d bytes, want %d of HTML: %s", name, len(b), want, b)
			}
		}
	}
	var size strings.Builder
	z := gzip.NewWriter(&size)
	_, _ = z.Write([]byte(text()))
	check(t, z.Close())
	if size.Len() < 1000 || size.Len() > 2500 {
		t.Errorf("got %d compressed bytes, want as many as an ordinary text of 4,096 bytes", size.Len())
	}
	if _, err := makeWWW(filepath.Join(dir, wwwDir, pageFile)); err == nil {
		t.Error("got no error for a folder in a file, want one")
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
