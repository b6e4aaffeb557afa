package web

import (
	"net/http"
	"net/textproto"
	"testing"
)

// FuzzFieldLookUp: a field is found under the names under which net/http finds it.
func FuzzFieldLookUp(f *testing.F) {
	for _, name := range []string{"Etag", "ETag", "Content-Type", "content-type", "X--Y", "-X", "X-", "", "X-1", "Www-Authenticate", "a b", "\xff"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		h := http.Header{textproto.CanonicalMIMEHeaderKey(name): {"one", "two"}, "Host": {"other"}}
		if got, want := value(h, name), h.Get(name); got != want {
			t.Errorf("the first value of %q: got %q, want %q as net/http finds it", name, got, want)
		}
		if got, want := len(values(h, name)), len(h.Values(name)); got != want {
			t.Errorf("the values of %q: got %d, want %d", name, got, want)
		}
	})
}
