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

func TestChatUpload(t *testing.T) {
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
		t.Errorf("%v\n%s", err, text)
	}
	remove := &uploadRemoveCmd{Files: []string{"https://chat.example.org/file/" + hashes[1] + "/bad.txt", "0000000000"}}
	text, err = printed(t, func(out *terminal) error { return remove.Run(out, on) })
	if err == nil || text != "removed: "+hashes[1]+"\n" {
		t.Errorf("%v\n%s", err, text)
	}
	text, err = list(on, true)
	var all []upload.File
	if err := errors.Join(err, json.Unmarshal([]byte(text), &all)); err != nil || len(all) != 2 || all[0].Hash != hashes[0] || all[1].Removed == nil {
		t.Errorf("%v\n%s", err, text)
	}
	if text, err := list(on, false); err != nil || !strings.Contains(text, "removed") {
		t.Errorf("%v\n%s", err, text)
	}
	if _, err := list(&chatUploadCmd{chatData: chatData{filepath.Join(data, "none")}}, false); err == nil {
		t.Error("a folder that is not there is listed")
	}
}
