package backup

import (
	"errors"
	"io"
	"path/filepath"
	"testing"
	"time"

	"weir/chat/upload"
)

// TestUploadsAreRestored: links lead to what they led to, and what was removed stays so.
func TestUploadsAreRestored(t *testing.T) {
	dir, place := t.TempDir(), t.TempDir()
	files, err := upload.Open(dir, upload.Options{})
	if err != nil {
		t.Fatal(err)
	}
	share := func(to *upload.Store, text string) (upload.Shared, error) {
		u, err := to.Begin("ann", -1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(u, text); err != nil {
			t.Fatal(err)
		}
		return u.Commit("a name.txt")
	}
	good, err1 := share(files, "good")
	bad, err2 := share(files, "bad")
	_, err3 := upload.Remove(dir, bad.Hash, time.Now())
	coming, err4 := files.Begin("ann", -1)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	copied, back := filepath.Join(place, "copy.tar.gz"), filepath.Join(place, "back")
	// a file, two records, and the sums
	if made, err := Create(t.Context(), dir, copied); err != nil || made.Files != 4 {
		t.Fatalf("Create: got %+v, %v; want the upload in it", made, err)
	}
	if _, err := Restore(t.Context(), copied, back); err != nil {
		t.Fatal(err)
	}
	if files, err = upload.Open(back, upload.Options{}); err != nil {
		t.Fatal(err)
	}
	c, err := files.Open(good.Hash, good.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if text, err := io.ReadAll(c); err != nil || string(text) != "good" {
		t.Errorf("got the upload %q, %v; want its content", text, err)
	}
	if _, err := share(files, "bad"); !errors.Is(err, upload.ErrRemoved) {
		t.Errorf("an expired upload after Restore: got %v, want none", err)
	}
	if err := coming.Abort(); err != nil {
		t.Error(err)
	}
}
