package client

import (
	"reflect"
	"testing"
)

func reactionsOf(s *script, name string, at int) []Reaction {
	v := s.c.Find(name)
	return v.Reactions(&v.Messages[at])
}

func TestReactionsAreStoredOnceAndRedacted(t *testing.T) {
	s := inRoom(t)
	v := s.c.Find("#g")
	s.says("@msgid=r-1;+draft/react=+1;+draft/reply=g-1 :bob!u@h TAGMSG #g", "@msgid=r-2;+draft/react=+1;+draft/reply=g-1 :cid!u@h TAGMSG #g",
		"@msgid=r-3;+draft/react=+1;+draft/reply=g-1 :bob!u@h TAGMSG #g", "@msgid=r-4;+draft/react=x;+draft/reply=g-1 :bob!u@h TAGMSG #g", "@+typing=active :bob!u@h TAGMSG #g")
	if got, want := reactionsOf(s, "#g", 0), []Reaction{{"+1", []string{"bob", "cid"}}, {"x", []string{"bob"}}}; !reflect.DeepEqual(got, want) {
		t.Errorf("reactions: got %v, want %v", got, want)
	}
	s.c.React(v, &v.Messages[0], "+1")
	if out := string(s.c.Output()); out != "@+draft/react=+1;+draft/reply=g-1 TAGMSG #g\r\n" && out != "@+draft/reply=g-1;+draft/react=+1 TAGMSG #g\r\n" {
		t.Errorf("React sends %q, want a TAGMSG with draft/react and draft/reply", out)
	}
	s.says("@msgid=r-5;+draft/react=+1;+draft/reply=g-1 :ann!u@h TAGMSG #g")
	s.c.React(v, &v.Messages[0], "+1")
	s.sends("REDACT #g r-5")
	s.says(":ann!u@h REDACT #g r-5", ":bob!u@h REDACT #g r-1")
	if got, want := reactionsOf(s, "#g", 0), []Reaction{{"+1", []string{"cid"}}, {"x", []string{"bob"}}}; !reflect.DeepEqual(got, want) {
		t.Errorf("reactions after the redactions: got %v, want %v", got, want)
	}
}

func TestReactionsAreReadFromTheHistory(t *testing.T) {
	s := newScript(t, Config{Rooms: []string{"#g"}})
	s.online()
	s.says(":ann!u@h JOIN #g")
	s.says(page("#g", line(1, "bob", "one"), "msgid=g-2;+draft/react=x;+draft/reply=g-1 :cid!u@h TAGMSG #g")...)
	if got, want := reactionsOf(s, "#g", 0), []Reaction{{"x", []string{"cid"}}}; !reflect.DeepEqual(got, want) {
		t.Errorf("reactions from the history: got %v, want %v", got, want)
	}
}

func TestRepliesNameTheOriginalMessage(t *testing.T) {
	s := inRoom(t)
	v := s.c.Find("#g")
	s.c.Reply(v, TextMessage, "yes", &v.Messages[0])
	out := string(s.c.Output())
	if want := "@+draft/reply=g-1;+weir/n=n.2 PRIVMSG #g :yes\r\n"; out != want && out != "@+weir/n=n.2;+draft/reply=g-1 PRIVMSG #g :yes\r\n" {
		t.Errorf("the client sends %q, want %q", out, want)
	}
	s.says("@+draft/reply=g-1;+weir/n=n.2;msgid=g-3 :ann!u@h PRIVMSG #g :yes")
	if m := v.Messages[1]; m.ReplyTo != "g-1" {
		t.Errorf("Message.ReplyTo: got %q, want g-1", m.ReplyTo)
	}
}

func TestRedactDeletesTheText(t *testing.T) {
	s := inRoom(t)
	v := s.c.Find("#g")
	s.c.Redact(v, &v.Messages[0])
	if e := s.c.Events(); len(e) != 1 || e[0].Kind != CommandFailed {
		t.Errorf("Redact without the capability: got events %v, want one CommandFailed", e)
	}
	s.says(":srv.x CAP * ACK :draft/message-redaction")
	s.c.Redact(v, &v.Messages[0])
	s.sends("REDACT #g g-1")
	s.says(":bob!u@h REDACT #g g-1")
	if m := v.Messages[0]; !m.Redacted || m.Text != "" {
		t.Errorf("redacted message: got %+v, want no text", m)
	}
}

func TestSearchSendsTheQueryAndReturnsTheResults(t *testing.T) {
	s := inRoom(t)
	if s.c.CanSearch() {
		t.Error("CanSearch without the capability: got true, want false")
	}
	s.says(":srv.x CAP * ACK :draft/search")
	s.c.Search(nil, "apple; cake")
	s.sends(`SEARCH text=apple\:\scake;limit=100`)
	s.c.Search(s.c.Find("#g"), "x")
	s.sends("SEARCH in=#g;text=x;limit=100")
	s.says(":srv.x BATCH +s search", "@batch=s;"+line(4, "bob", "an apple"), "@batch=s;msgid=d-1 :cid!u@h PRIVMSG ann :cake", ":srv.x BATCH -s")
	e := s.c.Events()
	if len(e) != 1 || e[0].Kind != SearchResults || len(e[0].Results) != 2 || e[0].Results[0].Target != "#g" || e[0].Results[1].Target != "cid" || e[0].Results[1].Message.Text != "cake" {
		t.Errorf("search: got events %+v, want two results", e)
	}
	s.texts("#g", "bob: one")
}

func TestRegisteredAccountIsUsedForLaterLogins(t *testing.T) {
	s := newScript(t, Config{})
	s.online()
	s.c.Register("CODE-1", "correct horse")
	s.sends("REGISTER * CODE-1 :correct horse")
	s.says(":srv.x FAIL REGISTER INVALID_EMAIL ann :wrong", ":srv.x REGISTER SUCCESS ann :not asked for")
	if s.c.config.Account != "" {
		t.Error("account after a failed REGISTER: got one, want none")
	}
	s.c.Register("", "correct horse")
	s.sends("REGISTER * * :correct horse")
	s.says(":srv.x REGISTER SUCCESS ann :Account created", ":srv.x 900 ann ann!u@h ann :You are now logged in")
	if s.c.Account() != "ann" {
		t.Errorf("account after REGISTER: got %q, want ann", s.c.Account())
	}
	s.c.Disconnected(nil)
	s.c.Connected(s.now)
	s.c.Output()
	s.says(":srv.x CAP * LS :"+allCaps, ":srv.x CAP * ACK :sasl")
	if out := string(s.c.Output()); out[len(out)-len("AUTHENTICATE SCRAM-SHA-256\r\n"):] != "AUTHENTICATE SCRAM-SHA-256\r\n" {
		t.Errorf("after a reconnect: sent %q, want a login to the new account", out)
	}
}
