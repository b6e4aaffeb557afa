package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestChatBackupRestoresTheLogsItSaved(t *testing.T) {
	data := chatVectors(t, map[string]string{"rooms/#good": "plain", "direct/ann,bob": "segments"})
	place := t.TempDir()
	file, back := filepath.Join(place, "copy.tar.gz"), filepath.Join(place, "back")
	for _, c := range []chatBackupCmd{{Data: data, To: file}, {Verify: file}, {Data: back, Restore: file}} {
		if text, err := printed(t, func(out *terminal) error { return c.Run(t.Context(), out) }); err != nil || c.Verify == "" && !strings.Contains(text, "rooms: 2, messages: ") {
			t.Errorf("%+v: got error %v, want none, and without --verify the counts of rooms and messages in:\n%s", c, err, text)
		}
	}
	check := chatLogCheckCmd{logFolders{Folder: []string{back}}}
	if text, err := printed(t, func(out *terminal) error { return check.Run(t.Context(), out) }); err != nil || !strings.HasSuffix(text, "faults: 0\n") {
		t.Errorf("checking the restored logs: got error %v, want none and %q at the end of:\n%s", err, "faults: 0", text)
	}
	nothing := chatBackupCmd{Data: data}
	if _, err := printed(t, func(out *terminal) error { return nothing.Run(t.Context(), out) }); err == nil || !strings.Contains(err.Error(), "--to") {
		t.Errorf("backup with no action: got error %v, want one that names --to", err)
	}
}

func TestChatBackupRequiresADataDirectory(t *testing.T) {
	c := chatBackupCmd{To: filepath.Join(t.TempDir(), "copy")}
	if _, err := printed(t, func(out *terminal) error { return c.Run(t.Context(), out) }); err == nil || !strings.Contains(err.Error(), "--data is missing") {
		t.Errorf("backup without a data directory: got error %v, want one that says --data is missing", err)
	}
}
