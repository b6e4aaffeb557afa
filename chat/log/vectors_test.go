package log

import (
	"os"
	"path/filepath"
	"testing"
)

// TestVectorsAreAsMade wants the files of docs/vectors/log to be what the encoder makes; -update writes them.
func TestVectorsAreAsMade(t *testing.T) {
	made := t.TempDir()
	for _, v := range makeVectors(t) {
		if *update {
			v.write(t, vectors)
		}
		v.write(t, made)
		want, err := os.ReadDir(filepath.Join(made, v.name))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range want {
			name := filepath.Join(v.name, f.Name())
			a, err := os.ReadFile(filepath.Join(made, name))
			if err != nil {
				t.Fatal(err)
			}
			if b, err := os.ReadFile(filepath.Join(vectors, name)); err != nil || string(a) != string(b) {
				t.Errorf("docs/vectors/log/%s is not what is made (go test -update writes it): %v", name, err)
			}
		}
	}
}
