package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestChatImportRestoresWhatExportWrote(t *testing.T) {
	data := chatVectors(t, map[string]string{"rooms/#good": "plain", "direct/ann,bob": "segments"})
	export := chatExportCmd{chatData: chatData{data}, Format: "jsonl"}
	text, err := printed(t, func(out *terminal) error { return export.Run(t.Context(), out) })
	if err != nil || strings.Count(text, "\n") < 11 {
		t.Fatalf("export: got error %v and %d lines, want none and at least 11 lines:\n%s", err, strings.Count(text, "\n"), text)
	}
	file := filepath.Join(t.TempDir(), "chat.jsonl")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	for _, want := range []string{"already there: 0\n", "messages imported: 0 (late: 0)"} {
		c := chatImportCmd{chatData: chatData{other}, File: file}
		if said, err := printed(t, func(out *terminal) error { return c.Run(t.Context(), out) }); err != nil || !strings.Contains(said, want) {
			t.Fatalf("import: got error %v, want none and %q in:\n%s", err, want, said)
		}
	}
	export.Data = other
	if again, err := printed(t, func(out *terminal) error { return export.Run(t.Context(), out) }); err != nil || again != text {
		t.Errorf("export of the imported logs: got error %v and\n%s\nwant the first export\n%s", err, again, text)
	}
}

func TestInstantTakesDatesAndDurations(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for s, want := range map[string]string{"2026-11-20": "2026-11-20T00:00:00Z", "2026-11-20T01:02:03Z": "2026-11-20T01:02:03Z",
		"7d": "2026-11-14T12:00:00Z", "90m": "2026-11-21T10:30:00Z", "": "0001-01-01T00:00:00Z"} {
		if at, err := instant(s, now); err != nil || at.Format(time.RFC3339) != want {
			t.Errorf("%q: %v, %v, want %s", s, at, err, want)
		}
	}
	for _, s := range []string{"yesterday", "-3h", "-1d", "7"} {
		if at, err := instant(s, now); err == nil {
			t.Errorf("instant %q: got %v, want an error: it is neither a date nor a duration in the past", s, at)
		}
	}
}
