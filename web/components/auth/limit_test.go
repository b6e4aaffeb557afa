package auth

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"weir/flow"
	"weir/web"
	"weir/web/internal/webtest"
)

// door is a composition with a check of passwords, each of which waits for the test.
type door struct {
	h      *web.Handler
	begun  chan struct{} // from each check -> to the test
	finish chan struct{} // closed by the test: checks go on
}

func newDoor(t *testing.T, way flow.Way, cfg BasicConfig) *door {
	t.Helper()
	d := &door{begun: make(chan struct{}, 1000), finish: make(chan struct{})}
	b, err := newBasic(cfg)
	if err != nil {
		t.Fatal(err)
	}
	b.compare = func(hash, password []byte) error {
		d.begun <- struct{}{}
		<-d.finish
		return bcrypt.CompareHashAndPassword(hash, password)
	}
	if d.h, err = web.New(b.compose(cfg, showUser("inside"), nil), web.Options{Way: way}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.h.Close() })
	return d
}

func (d *door) knock(from, name, password string) *http.Response {
	w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = from
	r.SetBasicAuth(name, password)
	d.h.ServeHTTP(w, r)
	return w.Result()
}

func TestTenSocketsWithRandomPasswordsKeepNoValidUserOut(t *testing.T) {
	file := written(t, "ann:"+hash(t, "sesame", 4)+"\nbob:"+hash(t, "sesame2", 4)+"\n")
	webtest.EachWay(t, func(t *testing.T, way flow.Way) {
		cfg := BasicConfig{Users: file, Width: 1, Attempts: 2}
		d := newDoor(t, way, cfg)
		var sockets sync.WaitGroup
		statuses := make(chan *http.Response, 1000)
		for i := range 10 {
			sockets.Go(func() {
				for k := range 5 {
					statuses <- d.knock("192.0.2.66:1", "ann", fmt.Sprint("random", i, k))
				}
			})
		}
		<-d.begun
		close(d.finish)
		if got := d.knock("192.0.2.1:1", "ann", "sesame"); got.StatusCode != 200 {
			t.Errorf("a valid user from another address: got %d, want 200", got.StatusCode)
		}
		sockets.Wait()
		close(statuses)
		count := map[int]int{}
		for r := range statuses {
			count[r.StatusCode]++
			if r.StatusCode == 429 && (r.Header.Get("Retry-After") == "" || r.Header.Get("WWW-Authenticate") != "") {
				t.Errorf("429 with %v, want Retry-After and no challenge", r.Header)
			}
		}
		if count[401] == 0 || count[401] > 2 || count[429] != 50-count[401] {
			t.Errorf("the attacker got %v, want at most 2 times 401 and otherwise 429", count)
		}
		if got := d.knock("192.0.2.66:9", "ann", "sesame"); got.StatusCode != 200 {
			t.Errorf("a user who was verified before, behind the attacker's address: got %d, want 200", got.StatusCode)
		}
		if got := d.knock("192.0.2.66:9", "bob", "sesame2"); got.StatusCode != 429 {
			t.Errorf("a user who was not, behind the attacker's address: got %d, want 429", got.StatusCode)
		}
		if got := d.knock("[2001:db8::1]:9", "bob", "sesame2"); got.StatusCode != 200 {
			t.Errorf("the same from another address: got %d, want 200", got.StatusCode)
		}
	})
}

func TestARightPasswordCostsNoAttempt(t *testing.T) {
	file := written(t, "ann:"+hash(t, "a", 4)+"\nbob:"+hash(t, "b", 4)+"\neve:"+hash(t, "e", 4)+"\n")
	d := newDoor(t, flow.Chain, BasicConfig{Users: file, Attempts: 1})
	close(d.finish)
	for _, c := range []struct {
		name, password string
		status         int
	}{{"ann", "a", 200}, {"bob", "b", 200}, {"eve", "wrong", 401}, {"eve", "e", 429}, {"ann", "a", 200}} {
		if got := d.knock("192.0.2.1:1", c.name, c.password); got.StatusCode != c.status {
			t.Errorf("%s with %s: got %d, want %d", c.name, c.password, got.StatusCode, c.status)
		}
	}
}

func TestAMemoryIsKeptByAnotherComponent(t *testing.T) {
	file := written(t, "ann:"+hash(t, "sesame", 4)+"\n")
	cfg := BasicConfig{Users: file, Attempts: 1, Memory: NewMemory(1)}
	before := newDoor(t, flow.Chain, cfg)
	close(before.finish)
	if got := before.knock("192.0.2.1:1", "ann", "sesame"); got.StatusCode != 200 {
		t.Fatalf("got %d, want 200", got.StatusCode)
	}
	before.knock("192.0.2.66:1", "ann", "wrong")
	after := newDoor(t, flow.Chain, cfg) // checks never end
	if got := after.knock("192.0.2.66:1", "ann", "sesame"); got.StatusCode != 200 {
		t.Errorf("a pair that was verified before the reload: got %d, want 200", got.StatusCode)
	}
	if got := after.knock("192.0.2.66:1", "ann", "wrong again"); got.StatusCode != 429 {
		t.Errorf("an attacker from before the reload: got %d, want 429", got.StatusCode)
	}
	close(after.finish)
}
