package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/chat/log"
)

func TestChatSearchFindsMessages(t *testing.T) {
	data := t.TempDir()
	l, err := log.Open(filepath.Join(data, "rooms/#family"), log.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	if _, err := l.Append([]log.Entry{{Time: at, Body: ":ann!u@h PRIVMSG #family :the blue boat"}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		query []string
		json  bool
		want  string
	}{
		{[]string{"boat", "from:ann"}, false, "2026-11-21 12:00 #family <ann> the blue boat\n"},
		{[]string{`"blue boat" -engine`}, true, `"room": "#family"`},
		{[]string{"engine"}, true, "[]\n"},
	} {
		cmd := chatSearchCmd{chatData: chatData{data}, Query: c.query, Limit: 20, JSON: c.json}
		if text, err := printed(t, func(out *terminal) error { return cmd.Run(t.Context(), out) }); err != nil || !strings.Contains(text, c.want) {
			t.Errorf("search %q: got error %v, want none and %q in:\n%s", c.query, err, c.want, text)
		}
	}
	cmd := chatSearchCmd{chatData: chatData{data}, Query: []string{"-boat"}, Limit: 20}
	if _, err := printed(t, func(out *terminal) error { return cmd.Run(t.Context(), out) }); err == nil || !strings.Contains(err.Error(), "invalid query") {
		t.Errorf("search with only an excluded word: got error %v, want an invalid query", err)
	}
}
