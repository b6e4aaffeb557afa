package auth

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"weir/web"
	"weir/web/internal/webtest"
)

func basicOf(name, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(name+":"+password))
}

// figure3 is the file server with a private area of figure 3 in J. Whitehead, "Serving Web Content
// with Dynamic Process Networks in Go" (2011).
func figure3(t *testing.T) web.Component {
	t.Helper()
	private, err := Basic(BasicConfig{Users: written(t, "ann:"+hash(t, "sesame", 4)+"\n"), Realm: `the "attic"`}, showUser("private"))
	if err != nil {
		t.Fatal(err)
	}
	arms, err := web.Routes(web.Arm{Pattern: "/private/", Component: private}, web.Arm{Pattern: "/", Component: showUser("public")})
	if err != nil {
		t.Fatal(err)
	}
	return arms
}

func TestFigure3APrivateArea(t *testing.T) {
	webtest.ServeBothWays(t, figure3(t), func(t *testing.T, url string) {
		for _, c := range []struct {
			path          string
			authorization []string
			status        int
			body          string
		}{
			{"/", nil, 200, `public ""`},
			{"/", []string{basicOf("ann", "wrong")}, 200, `public ""`},
			{"/private/", nil, 401, "401 Unauthorized\n"},
			{"/private/", []string{basicOf("ann", "sesame")}, 200, `private "ann"`},
			{"/private/", []string{strings.Replace(basicOf("ann", "sesame"), "Basic ", "bAsIc  ", 1)}, 200, `private "ann"`},
			{"/private/", []string{basicOf("ann", "sesam")}, 401, "401 Unauthorized\n"},
			{"/private/", []string{basicOf("ann", "")}, 401, "401 Unauthorized\n"},
			{"/private/", []string{basicOf("bob", "sesame")}, 401, "401 Unauthorized\n"},
			{"/private/", []string{basicOf("ann", "sesame"), basicOf("ann", "sesame")}, 401, "401 Unauthorized\n"},
			{"/private/", []string{"Bearer x"}, 401, "401 Unauthorized\n"},
			{"/private/", []string{"Basic ???"}, 401, "401 Unauthorized\n"},
			{"/private/", []string{"Basic"}, 401, "401 Unauthorized\n"},
		} {
			resp, body := asked(t, url+c.path, c.authorization...)
			if resp.StatusCode != c.status || body != c.body {
				t.Errorf("%s with %q: %d %q, want %d %q", c.path, c.authorization, resp.StatusCode, body, c.status, c.body)
			}
			if challenge := resp.Header.Get("WWW-Authenticate"); c.status == 401 && challenge != `Basic realm="the \"attic\"", charset="UTF-8"` {
				t.Errorf("%s with %q: got challenge %q, want realm %q and charset UTF-8", c.path, c.authorization, challenge, `the "attic"`)
			}
		}
	})
}

func TestBasicWithoutAComponentIsAPipe(t *testing.T) {
	pipe, err := Basic(BasicConfig{Users: written(t, "ann:"+hash(t, "sesame", 4))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	webtest.ServeBothWays(t, web.Chain(pipe, showUser("inside")), func(t *testing.T, url string) {
		if resp, body := asked(t, url, basicOf("ann", "sesame")); body != `inside "ann"` {
			t.Errorf("the right password: got %d %q, want the body %q", resp.StatusCode, body, `inside "ann"`)
		}
		if resp, _ := asked(t, url); resp.StatusCode != 401 || resp.Header.Get("WWW-Authenticate") != `Basic realm="private", charset="UTF-8"` {
			t.Errorf("no password: got %d %v, want 401 with a challenge for the realm private", resp.StatusCode, resp.Header)
		}
	})
}

func TestAPartForThoseOutside(t *testing.T) {
	c, err := Basic(BasicConfig{Users: written(t, "ann:"+hash(t, "sesame", 4))}, showUser("inside"), showUser("outside"))
	if err != nil {
		t.Fatal(err)
	}
	webtest.ServeBothWays(t, c, func(t *testing.T, url string) {
		if _, body := asked(t, url, basicOf("ann", "sesame")); body != `inside "ann"` {
			t.Errorf("the right password: got %q, want %q", body, `inside "ann"`)
		}
		if resp, body := asked(t, url, basicOf("ann", "x")); resp.StatusCode != 200 || body != `outside ""` {
			t.Errorf("a wrong password: got %d %q, want 200 %q", resp.StatusCode, body, `outside ""`)
		}
	})
}

// counting makes a component of which each check of a password is counted, with the cost of the
// hash.
func counting(t *testing.T, file string) (c web.Component, checks *[32]atomic.Int32) {
	t.Helper()
	w, err := watchFile(file, nil, parseUsers)
	if err != nil {
		t.Fatal(err)
	}
	checks = new([32]atomic.Int32)
	b := &basic{users: w, memory: NewMemory(1000), compare: func(hash, password []byte) error {
		cost, err := bcrypt.Cost(hash)
		if err != nil {
			return err
		}
		checks[cost].Add(1)
		return bcrypt.CompareHashAndPassword(hash, password)
	}}
	b.guard = guard{decide: b.decide, challenge: func(error) string { return "Basic" }}
	return b.compose(BasicConfig{Width: 1}, showUser("inside"), nil), checks
}

func TestAnUnknownUserCostsWhatAWrongPasswordCosts(t *testing.T) {
	file := written(t, "ann:"+hash(t, "sesame", 5)+"\n")
	c, checks := counting(t, file)
	webtest.ServeBothWays(t, c, func(t *testing.T, url string) {
		checks[5].Store(0)
		for i, name := range []string{"ann", "bob", "eve"} {
			if resp, _ := asked(t, url, basicOf(name, "wrong")); resp.StatusCode != 401 {
				t.Errorf("%s with a wrong password: got %d, want 401", name, resp.StatusCode)
			}
			if n := checks[5].Load(); n != int32(i+1) {
				t.Errorf("after %s: %d checks of cost 5, want %d", name, n, i+1)
			}
		}
		// The password of the user whose hash is lent must not admit an unknown name.
		if resp, _ := asked(t, url, basicOf("bob", "sesame")); resp.StatusCode != 401 {
			t.Errorf("an unknown user with the password of a lent hash: got %d, want 401", resp.StatusCode)
		}
	})
}

func TestAPairThatWasRightIsNotCheckedAgain(t *testing.T) {
	file := written(t, "ann:"+hash(t, "sesame", 4)+"\n")
	c, checks := counting(t, file)
	webtest.ServeBothWays(t, c, func(t *testing.T, url string) {
		rewrite(t, file, "ann:"+hash(t, "sesame", 4)+"\n")
		for range 3 {
			asked(t, url, basicOf("ann", "sesame"))
		}
		before := checks[4].Load()
		asked(t, url, basicOf("ann", "wrong"))
		if n := checks[4].Load(); n != before+1 {
			t.Errorf("a wrong password led to %d checks, want 1", n-before)
		}
		rewrite(t, file, "ann:"+hash(t, "other", 4)+"\n")
		webtest.Until(t, "the old password is refused", func() bool {
			resp, _ := asked(t, url, basicOf("ann", "sesame"))
			return resp.StatusCode == 401
		})
		if resp, _ := asked(t, url, basicOf("ann", "other")); resp.StatusCode != 200 {
			t.Errorf("the new password: got %d, want 200", resp.StatusCode)
		}
	})
	if n := checks[4].Load(); n < 4 {
		t.Errorf("got %d password checks, want at least 4, since the new passwords must be checked too", n)
	}
}

func TestVerifiedIsBounded(t *testing.T) {
	v := newVerified()
	for i := range maxVerified + 10 {
		v.add(v.digest([]byte("h"), "ann", strings.Repeat("x", i)))
	}
	if len(v.seen) != maxVerified {
		t.Errorf("got %d remembered passwords, want %d", len(v.seen), maxVerified)
	}
	if v.digest([]byte("h"), "ann", "x") == v.digest([]byte("h"), "annx", "") {
		t.Error("ann with password x and annx without one have the same digest, want different ones")
	}
}

func TestAFileThatBreaksChangesNothing(t *testing.T) {
	file := written(t, "ann:"+hash(t, "sesame", 4)+"\n")
	var broken atomic.Pointer[error]
	c, err := Basic(BasicConfig{Users: file, OnError: func(err error) { broken.Store(&err) }}, showUser("inside"))
	if err != nil {
		t.Fatal(err)
	}
	webtest.ServeBothWays(t, c, func(t *testing.T, url string) {
		broken.Store(nil)
		rewrite(t, file, "ann:sesame\n")
		webtest.Until(t, "the invalid file is reported", func() bool {
			if resp, _ := asked(t, url, basicOf("ann", "sesame")); resp.StatusCode != 200 {
				t.Fatalf("the user of the last valid file: got %d, want 200", resp.StatusCode)
			}
			return broken.Load() != nil
		})
		says(t, *broken.Load(), "line 1: the password is not a bcrypt hash")
	})
}

func TestAnExchangeThatIsLostCostsNothing(t *testing.T) {
	c, checks := counting(t, written(t, "ann:"+hash(t, "sesame", 4)+"\n"))
	limit := web.Pipe(func(c *web.Conn) { c.Reply(http.StatusTooManyRequests) })
	webtest.ServeBothWays(t, web.Chain(limit, c), func(t *testing.T, url string) {
		resp, _ := asked(t, url, basicOf("ann", "wrong"))
		if resp.StatusCode != 429 || checks[4].Load() != 0 {
			t.Errorf("got %d and %d checks, want 429 and none", resp.StatusCode, checks[4].Load())
		}
	})
}

func TestBasicIsRefused(t *testing.T) {
	good := "ann:" + hash(t, "sesame", 4) + "\n"
	for _, c := range []struct {
		cfg  BasicConfig
		says string
	}{
		{BasicConfig{}, "users is not set"},
		{BasicConfig{Users: "not/there"}, "not/there"},
		{BasicConfig{Users: written(t, good), Realm: "Ä"}, "realm"},
		{BasicConfig{Users: written(t, good), Realm: "a\r\nb"}, "realm"},
		{BasicConfig{Users: written(t, good), Width: -1}, "width"},
		{BasicConfig{Users: written(t, good), Attempts: -1}, "attempts"},
		{BasicConfig{Users: written(t, good+"\n# again\n"+good)}, "line 4: this user has an earlier line"},
		{BasicConfig{Users: written(t, "ann\n")}, "line 1: write NAME:HASH"},
		{BasicConfig{Users: written(t, ":"+strings.TrimPrefix(good, "ann:"))}, "line 1: write NAME:HASH"},
		{BasicConfig{Users: written(t, "ann:{SHA}sesame\n")}, "line 1: the password is not a bcrypt hash"},
		{BasicConfig{Users: written(t, strings.Replace(good, "$04$", "$31$", 1))}, "cost 31"},
	} {
		_, err := Basic(c.cfg, nil)
		says(t, err, c.says)
	}
	if _, err := Basic(BasicConfig{Users: written(t, "")}, nil); err != nil {
		t.Errorf("a file without users: got error %v, want none", err)
	}
}

func TestFileWithoutUsersAdmitsNoClient(t *testing.T) {
	c, err := Basic(BasicConfig{Users: written(t, "# no users yet\n")}, showUser("inside"))
	if err != nil {
		t.Fatal(err)
	}
	webtest.ServeBothWays(t, c, func(t *testing.T, url string) {
		if resp, _ := asked(t, url, basicOf("ann", "")); resp.StatusCode != 401 {
			t.Errorf("an empty password: got %d, want 401", resp.StatusCode)
		}
	})
}

func TestHashesOfApacheAreRead(t *testing.T) {
	u, err := parseUsers([]byte("ann:" + strings.Replace(hash(t, "sesame", 4), "$2a$", "$2y$", 1) + "\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := bcrypt.CompareHashAndPassword(u.hashes["ann"], []byte("sesame")); err != nil {
		t.Errorf("the password's hash with Apache's prefix $2y$: got %v, want it accepted", err)
	}
}

func TestPairsAreParsedAsInRFC7617(t *testing.T) {
	for text, want := range map[string]credentialPair{
		"Aladdin:open sesame": {name: "Aladdin", password: "open sesame"},
		"ann:a:b":             {name: "ann", password: "a:b"},
		"ann:":                {name: "ann"},
		"test:123£":           {name: "test", password: "123£"},
	} {
		p, err := parsePair(base64.StdEncoding.EncodeToString([]byte(text)))
		if err != nil || p.name != want.name || p.password != want.password {
			t.Errorf("%q: got %v, error %v; want %v", text, p, err, want)
		}
	}
	for _, text := range []string{"", ":", ":x", "ann", "an\nn:x", "ann:\x00", "ann:\x7f", "ann:\xff"} {
		if _, err := parsePair(base64.StdEncoding.EncodeToString([]byte(text))); !errors.Is(err, errMalformed) {
			t.Errorf("%q: %v, want that it is malformed", text, err)
		}
	}
}

func FuzzPairs(f *testing.F) {
	f.Add("QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
	f.Fuzz(func(t *testing.T, token string) {
		p, err := parsePair(token)
		if err != nil {
			return
		}
		again, err := parsePair(base64.StdEncoding.EncodeToString([]byte(p.name + ":" + p.password)))
		if err != nil || again.name != p.name || again.password != p.password {
			t.Errorf("the name and password of %q, encoded again: got %v, error %v; want %v", token, again, err, p)
		}
	})
}

func FuzzUsers(f *testing.F) {
	f.Add([]byte("# c\nann:" + hash(f, "x", 4) + "\n\nbob:" + hash(f, "y", 4)))
	f.Fuzz(func(t *testing.T, text []byte) {
		u, err := parseUsers(text)
		if err != nil {
			return
		}
		var lines strings.Builder
		for _, name := range u.names {
			if cost, err := bcrypt.Cost(u.hashes[name]); err != nil || cost > maxCost {
				t.Fatalf("user %q has the hash %q, error %v; want a cost of at most %d", name, u.hashes[name], err, maxCost)
			}
			lines.WriteString(name + ":" + string(u.hashes[name]) + "\n")
		}
		if again, err := parseUsers([]byte(lines.String())); err != nil || len(again.names) != len(u.names) {
			t.Errorf("%q, written and parsed again: got error %v, want the same users", lines.String(), err)
		}
	})
}

// TestTheUsersFileIsCheckedOffTheLoop requires that an exchange leaves its event loop for the check
// of the file, and stays there otherwise.
func TestTheUsersFileIsCheckedOffTheLoop(t *testing.T) {
	w, err := watchFile(written(t, "ann:"+hash(t, "sesame", 4)+"\n"), nil, parseUsers)
	if err != nil {
		t.Fatal(err)
	}
	h, err := web.New(web.Pipe(func(c *web.Conn) { w.refresh(c) }), web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for _, c := range []struct {
		due  time.Duration
		want int
	}{{time.Hour, 0}, {0, 1}} {
		w.nextCheck.Store(int64(c.due))
		if got := webtest.LeavesLoop(t, h, "GET", "/"); got != c.want {
			t.Errorf("a check due after %v: left the loop %d times, want %d", c.due, got, c.want)
		}
	}
}
