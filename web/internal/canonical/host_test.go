package canonical

import (
	"strings"
	"testing"
)

func TestHostHasOneCanonicalForm(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "example.org": "example.org", "Admin.Example.ORG": "admin.example.org", "admin.example.org.": "admin.example.org",
		"example.org:8080": "example.org:8080", "example.org.:8080": "example.org:8080", "example.org:": "example.org", "example.org:80": "example.org",
		"example.org:080": "example.org", "example.org:08080": "example.org:8080", "a_b-c": "a_b-c", "127.0.0.1:81": "127.0.0.1:81",
		"[::1]": "[::1]", "[::1]:80": "[::1]", "[::1]:81": "[::1]:81", "[0:0:0:0:0:0:0:1]": "[::1]", "[2001:DB8::00a]": "[2001:db8::a]", "[::ffff:1.2.3.4]": "[::ffff:1.2.3.4]",
	} {
		got, err := ParseHost(in, 80)
		if err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", in, got, err, want)
		}
		if IsHost(in, 80) && in != want {
			t.Errorf("IsHost accepts %q, but the canonical form is %q", in, want)
		}
		if again, err := ParseHost(got, 80); err != nil || again != got {
			t.Errorf("%q becomes %q, which becomes %q, %v: want the canonical form to stay", in, got, again, err)
		}
	}
	if got, err := ParseHost("example.org:80", 443); err != nil || got != "example.org:80" {
		t.Errorf("port 80 of https: got %q, %v, want it kept", got, err)
	}
}

func TestInvalidHostIsRejected(t *testing.T) {
	for _, in := range []string{
		".", "..", "a..b", ".a", "a..", "example.org/private", "user@example.org", "user:pass@example.org", "a b", "a%20b", "exa%6dple.org", "a,b", "ä.org", "\u212a.org",
		"example.org:port", "example.org:65536", "example.org:-1", "example.org:+80", ":80", ":", "a:b:c", "::1", "[::1", "::1]", "[]", "[a]", "[127.0.0.1]", "[fe80::1%25eth0]", "[fe80::1%eth0]",
		"[::1]x", "[::1]80", "a]", "a?b", "a#b", "a\\b", "a\x00", "*", "a;b", "a'b", "[::1].:80",
	} {
		if got, err := ParseHost(in, 80); err == nil {
			t.Errorf("%q: got %q, want an error", in, got)
		}
	}
}

func TestNameRemovesThePort(t *testing.T) {
	for in, want := range map[string]string{"": "", "a.b": "a.b", "a.b:1": "a.b", "[::1]": "[::1]", "[::1]:1": "[::1]"} {
		if got := Name(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func FuzzHost(f *testing.F) {
	for _, seed := range []string{"", "a.b:80", "[::1]:1", "A.", "..", "a:00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		host, err := ParseHost(in, 80)
		if err != nil {
			if IsHost(in, 80) {
				t.Fatalf("%q: got %v, want it accepted: it is canonical", in, err)
			}
			return
		}
		if again, err := ParseHost(host, 80); err != nil || again != host {
			t.Fatalf("%q becomes %q, which becomes %q, %v: want the canonical form to stay", in, host, again, err)
		}
		if strings.ToLower(host) != host || strings.ContainsAny(host, "/@%?#\\ ") || strings.HasSuffix(Name(host), ".") {
			t.Fatalf("%q: got %q, want lower case, no delimiter, and a name without a dot at its end", in, host)
		}
	})
}

func BenchmarkIsHost(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if !IsHost("www.example.org:8080", 80) {
			b.Fatal("not canonical")
		}
	}
}
