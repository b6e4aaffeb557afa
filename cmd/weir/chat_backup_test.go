package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestChatBackup(t *testing.T) {
	data := chatVectors(t, map[string]string{"rooms/#good": "plain", "direct/ann,bob": "segments"})
	place := t.TempDir()
	file, back := filepath.Join(place, "copy.tar.gz"), filepath.Join(place, "back")
	for _, c := range []chatBackupCmd{{Data: data, To: file}, {Verify: file}, {Data: back, Restore: file}} {
		if text, err := printed(t, func(out *terminal) error { return c.Run(t.Context(), out) }); err != nil || c.Verify == "" && !strings.Contains(text, "rooms: 2, messages: ") {
			t.Errorf("%+v: %v\n%s", c, err, text)
		}
	}
	check := chatLogCheckCmd{logFolders{Folder: []string{back}}}
	if text, err := printed(t, func(out *terminal) error { return check.Run(t.Context(), out) }); err != nil || !strings.HasSuffix(text, "faults: 0\n") {
		t.Errorf("%v\n%s", err, text)
	}
	nothing := chatBackupCmd{Data: data}
	if _, err := printed(t, func(out *terminal) error { return nothing.Run(t.Context(), out) }); err == nil || !strings.Contains(err.Error(), "--to") {
		t.Errorf("%v", err)
	}
}

func TestABackupIsMadeOfSomething(t *testing.T) {
	c := chatBackupCmd{To: filepath.Join(t.TempDir(), "copy")}
	if _, err := printed(t, func(out *terminal) error { return c.Run(t.Context(), out) }); err == nil || !strings.Contains(err.Error(), "--data is missing") {
		t.Errorf("%v", err)
	}
}
