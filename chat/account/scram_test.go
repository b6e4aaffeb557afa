package account

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"
)

// An unknown name, the name of a removed account and an invalid name are answered like any other:
// always with the same salt, also after a restart.
func TestUnknownNamesLookKnown(t *testing.T) {
	dir := t.TempDir()
	var first map[string]string
	for range 2 {
		s := open(t, dir, Options{})
		if first == nil {
			add(t, s, "ann", "correct horse")
			write(t, dir, "accounts", read(t, dir, "accounts")+"gone - removed=2026-11-20T08:00:00Z\ncert - certfp="+strings.Repeat("ab", 32)+"\n")
		}
		now := map[string]string{}
		for _, name := range []string{"ann", "ANN", "bob", "BOB", "gone", "cert", "no name", "9"} {
			answer, done, _, err := s.Scram().Step("n,,n=" + name + ",r=abc")
			nonce, salt, ok := strings.Cut(answer, ",")
			if err != nil || done || !ok || !strings.HasPrefix(nonce, "r=abc") || len(salt) != len("s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096") || !strings.HasSuffix(salt, ",i=4096") {
				t.Errorf("SCRAM for the name %s: got answer %q, done %v, error %v; want a nonce, a salt and 4096 iterations, as for a known name", name, answer, done, err)
			}
			now[name] = salt
		}
		if now["ann"] != now["ANN"] || now["bob"] != now["BOB"] || now["ann"] == now["bob"] || now["bob"] == now["gone"] {
			t.Errorf("got the salts %v, want one for each name, in upper or lower case", now)
		}
		for name := range first {
			if first[name] != now[name] {
				t.Errorf("%s: got the salt %s after a restart, want %s as before", name, now[name], first[name])
			}
		}
		first = now
	}
}

func TestScramRejectsInvalidMessages(t *testing.T) {
	s := open(t, t.TempDir(), Options{nonce: func() string { return "server" }})
	add(t, s, "ann", "correct horse")
	long := strings.Repeat("x", maxMessage)
	for _, c := range []struct {
		messages []string
		want     error
	}{
		{[]string{""}, ErrMalformed},
		{[]string{"rubbish"}, ErrMalformed},
		{[]string{"n,,n=ann,r=" + long}, ErrMalformed},
		{[]string{"n,,n=ann\xff,r=abc"}, ErrMalformed},
		{[]string{"n,,n=a=2Xn,r=abc"}, ErrMalformed},
		{[]string{"p=tls-unique,,n=ann,r=abc"}, ErrMalformed},
		{[]string{"n,a=bob,n=ann,r=abc"}, ErrLoginFailed},
		{[]string{"n,,n=ann,r=abc", ""}, ErrLoginFailed},
		{[]string{"n,,n=ann,r=abc", "c=biws,r=abcserver,p=AAAA"}, ErrLoginFailed},
		{[]string{"n,,n=ann,r=abc", "c=biws,r=abcother,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="}, ErrLoginFailed},
		{[]string{"n,,n=ann,r=abc", "c=biws,r=abcserver,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="}, ErrLoginFailed},
		{[]string{"n,,n=bob,r=abc", "c=biws,r=abcserver,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="}, ErrLoginFailed},
		{[]string{"n,,n=ann,r=abc", long + "x"}, ErrMalformed},
	} {
		talk := s.Scram()
		var done bool
		var err error
		for i, m := range c.messages {
			if _, done, _, err = talk.Step(m); done || err == nil && i == len(c.messages)-1 || err != nil && i < len(c.messages)-1 {
				t.Errorf("%.80q, message %d: got done %v and error %v, want not done, and an error at the last message only", c.messages, i, done, err)
			}
		}
		if err != c.want {
			t.Errorf("SCRAM messages %.80q: got %v, want %v", c.messages, err, c.want)
		}
		if _, done, _, err := talk.Step(c.messages[0]); done || err == nil {
			t.Errorf("%.80q: a step after the end: got done %v and error %v, want an error", c.messages, done, err)
		}
	}
}

func TestScramRejectsAnotherAuthzid(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	add(t, s, "ann", "correct horse")
	add(t, s, "bob", "correct horse")
	for authzid, want := range map[string]error{"": nil, "ANN": nil, "ann@phone": nil, "bob": ErrLoginFailed, "b b": ErrLoginFailed} {
		if login, err := converse(t, s, "ann@phone", "correct horse", authzid); err != want || err == nil && (login.Name != "ann" || login.Device != "phone") {
			t.Errorf("SCRAM as ann@phone with authzid %q: got %+v and error %v, want %v", authzid, login, err, want)
		}
		authcid, password, err := SplitPlain([]byte(authzid + "\x00ann@phone\x00correct horse"))
		if err != want || err == nil && (authcid != "ann@phone" || password != "correct horse") {
			t.Errorf("PLAIN as ann@phone with authzid %q: got authcid %q, password %q, error %v; want error %v", authzid, authcid, password, err, want)
		}
	}
	for _, message := range []string{"", "ann", "\x00ann", "\x00ann\x00a\x00b", "\x00ann\xff\x00b", "\x00ann\x00" + strings.Repeat("x", maxMessage)} {
		if _, _, err := SplitPlain([]byte(message)); err != ErrMalformed {
			t.Errorf("SplitPlain(%.20q): got %v, want ErrMalformed (RFC 4616, section 2)", message, err)
		}
	}
}

// TestALoginToAnAccountRemovedMeanwhileIsRejected removes the account between the messages: the
// Store looks it up again at the end of the exchange.
func TestALoginToAnAccountRemovedMeanwhileIsRejected(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	s.opts.nonce = func() string {
		if err := s.Remove("ann", true); err != nil {
			t.Error(err)
		}
		return "server"
	}
	add(t, s, "ann", "correct horse")
	if _, err := converse(t, s, "ann", "correct horse", ""); err != ErrLoginFailed {
		t.Errorf("login to an account that was removed meanwhile: got %v, want ErrLoginFailed", err)
	}
}

func TestExternalAcceptsOnlyTheAccountsCertificates(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	add(t, s, "ann", "correct horse")
	add(t, s, "bob", "correct horse")
	cert := Fingerprint([]byte("not really a certificate"))
	if err := s.AddCert("ann", strings.ToUpper(cert)); err != nil {
		t.Fatal(err)
	}
	if raw, err := hex.DecodeString(cert); err != nil || len(raw) != 32 {
		t.Errorf("got the fingerprint %s, want 64 lower-case digits", cert)
	}
	for _, c := range []struct {
		authzid, cert, device string
		want                  error
	}{
		{"", cert, "", nil}, {"ANN", cert, "", nil}, {"ann@Phone", cert, "phone", nil},
		{"bob", cert, "", ErrLoginFailed}, {"ann@", cert, "", ErrLoginFailed}, {"", strings.Repeat("00", 32), "", ErrLoginFailed},
		{"", "", "", ErrFingerprint}, {"", cert[1:], "", ErrFingerprint},
	} {
		login, err := s.External(c.authzid, c.cert)
		if !errors.Is(err, c.want) || err == nil && (login.Name != "ann" || login.Device != c.device) {
			t.Errorf("EXTERNAL with authzid %q and certificate %.8s: got %+v and error %v, want device %q and error %v", c.authzid, c.cert, login, err, c.device, c.want)
		}
	}
	if err := s.RemoveCert("ann", cert); err != nil {
		t.Fatal(err)
	}
	if _, err := s.External("", cert); err != ErrLoginFailed {
		t.Errorf("login by a removed certificate: got %v, want ErrLoginFailed", err)
	}
}

// FuzzScram: no message of a client ends in a panic or a login.
func FuzzScram(f *testing.F) {
	dir := f.TempDir()
	s, err := Open(dir, Options{nonce: func() string { return "server" }, Iterations: minIterations})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	if _, err := s.Add("ann", "correct horse", Member, false); err != nil {
		f.Fatal(err)
	}
	f.Add("n,,n=ann,r=abc", "c=biws,r=abcserver,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
	f.Add("y,a=ann,n=ann@phone,r=abc", "c=biws,r=abcserver,x=1,p=")
	f.Add("m=1", "")
	f.Fuzz(func(t *testing.T, first, second string) {
		c := s.Scram()
		answer, done, _, err := c.Step(first)
		if done || (answer == "") != (err != nil) {
			t.Fatalf("client-first-message %q: got answer %q, done %v, error %v; want an answer or an error, and no login", first, answer, done, err)
		}
		if answer, done, login, err := c.Step(second); done || answer != "" || login.Account != nil || err == nil {
			t.Fatalf("messages %q, %q: got answer %q, done %v, login %+v, error %v; want an error and no login", first, second, answer, done, login, err)
		}
		_ = c.Key()
	})
}
