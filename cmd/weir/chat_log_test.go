package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/chat/log"
)

// chatVectors is a chat's data folder with two rooms in it, out of the vectors that every
// implementation must read.
func chatVectors(t *testing.T, rooms map[string]string) string {
	t.Helper()
	data := t.TempDir()
	for room, vector := range rooms {
		if err := os.CopyFS(filepath.Join(data, room), os.DirFS(filepath.Join("../../docs/vectors/log", vector))); err != nil {
			t.Fatal(err)
		}
	}
	return data
}

// printed gives what a command prints, and its error.
func printed(t *testing.T, run func(*terminal) error) (string, error) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	failed := run(newTerminal(out, out))
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text), failed
}

func TestChatLogCheckReportsEachFault(t *testing.T) {
	data := chatVectors(t, map[string]string{"rooms/#good": "plain", "rooms/#bad": "corrupt", "direct/ann,bob": "segments"})
	c := chatLogCheckCmd{logFolders{Folder: []string{data}}}
	text, err := printed(t, func(out *terminal) error { return c.Run(t.Context(), out) })
	if err == nil || !strings.Contains(text, "#bad: at 108, 137 bytes: not a valid line\n") || !strings.HasSuffix(text, "logs: 3, messages: 20, faults: 1\n") {
		t.Errorf("check: got error %v, want one, with the fault of #bad at 108 and the sum of 3 logs, 20 messages and 1 fault in:\n%s", err, text)
	}
	c = chatLogCheckCmd{logFolders{Folder: []string{filepath.Join(data, "rooms", "#good")}, JSON: true}}
	text, err = printed(t, func(out *terminal) error { return c.Run(t.Context(), out) })
	var reports []struct {
		Folder string
		log.Report
	}
	if bad := json.Unmarshal([]byte(text), &reports); err != nil || bad != nil || len(reports) != 1 || reports[0].Lines != 11 {
		t.Errorf("check --json: got errors %v, %v (JSON), want none and one report with 11 lines in:\n%s", err, bad, text)
	}
}

// A server that runs creates a room's folder before its log.
func TestChatLogCheckSkipsARoomThatIsBeingCreated(t *testing.T) {
	data := chatVectors(t, map[string]string{"rooms/#good": "plain"})
	if err := os.Mkdir(filepath.Join(data, "rooms", "#half"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := chatLogCheckCmd{logFolders{Folder: []string{data}}}
	text, err := printed(t, func(out *terminal) error { return c.Run(t.Context(), out) })
	if err != nil || !strings.HasPrefix(text, "logs: 1,") {
		t.Errorf("check: got error %v and %q, want none, and one log", err, text)
	}
}

func TestChatLogRepairLeavesNoFault(t *testing.T) {
	data := chatVectors(t, map[string]string{"rooms/#good": "plain", "rooms/#bad": "corrupt", "rooms/#torn": "torn"})
	repair := chatLogRepairCmd{logFolders{Folder: []string{data}}}
	text, err := printed(t, func(out *terminal) error { return repair.Run(t.Context(), out) })
	for _, want := range []string{"#good: nothing to repair", "#bad: 137 bytes were removed from segment 0; the damaged file is kept as 0", "#torn: a torn tail of 134 bytes was cut at 245"} {
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("%v, no %q in\n%s", err, want, text)
		}
	}
	check := chatLogCheckCmd{logFolders{Folder: []string{data}}}
	if text, err := printed(t, func(out *terminal) error { return check.Run(t.Context(), out) }); err != nil || !strings.HasSuffix(text, "faults: 0\n") {
		t.Errorf("check after the repair: got error %v, want none and %q at the end of:\n%s", err, "faults: 0", text)
	}
	stat := chatLogStatCmd{logFolders{Folder: []string{data}}}
	text, err = printed(t, func(out *terminal) error { return stat.Run(t.Context(), out) })
	if err != nil || !strings.Contains(text, "#good") || !strings.Contains(text, "2026-11-22 11:30") {
		t.Errorf("stat: got error %v, want none, with #good and 2026-11-22 11:30 in:\n%s", err, text)
	}
}

func TestChatLogCheckNamesAFolderWithoutALog(t *testing.T) {
	for _, folder := range []string{t.TempDir(), filepath.Join(t.TempDir(), "nowhere")} {
		c := chatLogCheckCmd{logFolders{Folder: []string{folder}}}
		if _, err := printed(t, func(out *terminal) error { return c.Run(t.Context(), out) }); err == nil || !strings.Contains(err.Error(), folder) {
			t.Errorf("check of %s, which has no log: got error %v, want one that names the folder", folder, err)
		}
	}
}
