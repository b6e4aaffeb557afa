package main

import (
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"weir/chat/upload"
)

func TestChatUploadListsAndRemovesFiles(t *testing.T) {
	data := t.TempDir()
	s, err := upload.Open(data, upload.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var hashes []string
	for _, name := range []string{"boat.jpg", "bad.txt"} {
		u, err := s.Begin("ann", -1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(u, name); err != nil {
			t.Fatal(err)
		}
		shared, err := u.Commit(name)
		if err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, shared.Hash)
	}
	on := &chatUploadCmd{chatData: chatData{data}}
	list := func(c *chatUploadCmd, asJSON bool) (string, error) {
		return printed(t, func(out *terminal) error { return (&uploadListCmd{JSON: asJSON}).Run(out, c) })
	}
	text, err := list(on, false)
	if err != nil || !strings.Contains(text, hashes[0][:16]) || !strings.Contains(text, "ann  boat.jpg") {
		t.Errorf("list: got error %v, want none, with the hash %s and ann's boat.jpg in:\n%s", err, hashes[0][:16], text)
	}
	remove := &uploadRemoveCmd{Files: []string{"https://chat.example.org/file/" + hashes[1] + "/bad.txt", "0000000000"}}
	text, err = printed(t, func(out *terminal) error { return remove.Run(out, on) })
	if err == nil || text != "removed: "+hashes[1]+"\n" {
		t.Errorf("remove of one file and one unknown hash: got error %v, want one, and %s removed, got:\n%s", err, hashes[1], text)
	}
	text, err = list(on, true)
	var all []upload.File
	if err := errors.Join(err, json.Unmarshal([]byte(text), &all)); err != nil || len(all) != 2 || all[0].Hash != hashes[0] || all[1].Removed == nil {
		t.Errorf("list --json: got error %v, want none, and 2 files, %s first, the second removed, in:\n%s", err, hashes[0], text)
	}
	if text, err := list(on, false); err != nil || !strings.Contains(text, "removed") {
		t.Errorf("list after a removal: got error %v, want none and a file marked removed in:\n%s", err, text)
	}
	if _, err := list(&chatUploadCmd{chatData: chatData{filepath.Join(data, "none")}}, false); err == nil {
		t.Error("list of a data directory that does not exist: got no error, want one")
	}
}
