package irc

import (
	"testing"
	"time"
)

func TestStampTextSaysWhenAMessageWasSent(t *testing.T) {
	now := time.Date(2026, 11, 22, 0, 30, 0, 0, time.FixedZone("east", 3600))
	today, before := time.Date(2026, 11, 21, 14, 5, 12, 999e6, time.UTC), time.Date(2026, 11, 20, 23, 59, 59, 0, time.UTC)
	for _, x := range []struct {
		at         time.Time
		body, want string
	}{
		{today, ":a!u@h PRIVMSG #r :text", ":a!u@h PRIVMSG #r :[14:05:12] text"},
		{before, ":a!u@h NOTICE #r :one two", ":a!u@h NOTICE #r :[2026-11-20 23:59:59] one two"},
		{today, ":a!u@h PRIVMSG #r :", ":a!u@h PRIVMSG #r :[14:05:12] "},
		{today, ":a!u@h PRIVMSG #r :\x01ACTION waves\x01", ":a!u@h PRIVMSG #r :\x01ACTION [14:05:12] waves\x01"},
		{today, ":a!u@h PRIVMSG #r :\x01DCC SEND file\x01", ":a!u@h PRIVMSG #r :\x01DCC SEND file\x01"},
		{today, ":a!u@h TOPIC #r :text", ":a!u@h TOPIC #r :text"},
		{today, ":a!u@h TAGMSG #r", ":a!u@h TAGMSG #r"},
	} {
		body := x.body + "\r\n"
		if got := string(StampText([]byte(body), x.at, now)); got != x.want+"\r\n" {
			t.Errorf("StampText(%q, %v): got %q, want %q", body, x.at, got, x.want)
		}
	}
}
