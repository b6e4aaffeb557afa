//go:build linux

package chattest

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// damage modifies the log of a killed server as a crash can modify a file after the last known
// line. It does nothing, truncates the file at any byte, flips a bit, appends random bytes, or
// removes the file with the committed offset. holed reports whether the damage may have left an
// invalid line before valid ones.
func damage(t *testing.T, s *server, known []string, random *rand.Rand, sum *crashes) (holed bool) {
	t.Helper()
	segments, err := filepath.Glob(s.data + "/rooms/" + crashRoom + "/*.log")
	if err != nil || len(segments) == 0 {
		return false
	}
	file := lastWithText(t, segments)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	safe := knownEnd(text, known)
	switch kind := random.IntN(5); {
	case kind == 1 && safe < len(text):
		sum.truncated++
		text = text[:safe+random.IntN(len(text)-safe)]
	case kind == 2 && safe < len(text):
		sum.flipped++
		holed = true
		text[safe+random.IntN(len(text)-safe)] ^= 1 << random.IntN(8)
	case kind == 3:
		sum.appended++
		for range 1 + random.IntN(700) {
			text = append(text, byte(random.IntN(256)))
		}
	case kind == 4:
		sum.uncommitted++
		if err := os.Remove(filepath.Dir(file) + "/committed"); err != nil {
			t.Fatal(err)
		}
		return false
	default:
		return false
	}
	overwrite(t, file, text)
	return holed
}

// lastWithText returns the last segment that is not empty.
func lastWithText(t *testing.T, segments []string) string {
	t.Helper()
	for i := len(segments) - 1; i > 0; i-- { // Glob sorts
		info, err := os.Stat(segments[i])
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > 0 {
			return segments[i]
		}
	}
	return segments[0]
}

// knownEnd returns the offset in a segment after the last line with a known text.
func knownEnd(segment []byte, known []string) int {
	is := map[string]bool{}
	for _, text := range known {
		is[text] = true
	}
	end, at := 0, 0
	for line := range bytes.Lines(segment) {
		at += len(line)
		if text, message := said(string(line)); message && is[text] {
			end = at
		}
	}
	return end
}

// overwrite writes a file in place and keeps its mode.
func overwrite(t *testing.T, file string, text []byte) {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	os.Chmod(file, 0o600) // finished segments are read-only
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, info.Mode()); err != nil {
		t.Fatal(err)
	}
}
