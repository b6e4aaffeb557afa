package canonical

import (
	"net/url"
	"strings"
	"testing"
)

func TestPathHasOneCanonicalForm(t *testing.T) {
	for _, c := range []struct{ in, decoded, escaped string }{
		{"/", "/", "/"}, {"/a/b", "/a/b", "/a/b"}, {"/a/", "/a/", "/a/"},
		{"/%61%2D%2e%5f%7Eb", "/a-._~b", "/a-._~b"},
		{"//a///b//", "/a/b/", "/a/b/"},
		{"/./a/./b/.", "/a/b/", "/a/b/"}, {"/%2e/a", "/a", "/a"},
		{"/x/../a", "/a", "/a"}, {"/a/b/..", "/a/", "/a/"}, {"/..", "/", "/"}, {"/../../a", "/a", "/a"}, {"/x/%2E%2e/a", "/a", "/a"}, {"/x//../a", "/a", "/a"},
		{"/...", "/...", "/..."}, {"/.a", "/.a", "/.a"}, {"/a.", "/a.", "/a."}, {"/..a", "/..a", "/..a"},
		{"/%c3%a4", "/ä", "/%C3%A4"}, {"/ä", "/ä", "/%C3%A4"}, {"/%c0%af", "/\xc0\xaf", "/%C0%AF"},
		{"/a%20b", "/a b", "/a%20b"}, {"/a%3fb%23c", "/a?b#c", "/a%3Fb%23c"}, {"/%252f%252e", "/%2f%2e", "/%252f%252e"}, {"/100%25", "/100%", "/100%25"},
		{"/a(b)!*'", "/a(b)!*'", "/a(b)!*'"}, {"/a%28b%29", "/a(b)", "/a%28b%29"}, {"/a;b=c,d", "/a;b=c,d", "/a;b=c,d"}, {"/a%3bb", "/a;b", "/a%3Bb"},
		{`/"<>[]^{|}` + "`", `/"<>[]^{|}` + "`", "/%22%3C%3E%5B%5D%5E%7B%7C%7D%60"},
		{"", "/", "/"}, {"a/b", "/a/b", "/a/b"},
	} {
		u := &url.URL{}
		if c.in != "" && c.in[0] == '/' {
			u = parse(t, c.in)
		} else {
			u.Path = c.in // as http.StripPrefix leaves it
		}
		p, err := ParsePath(u, false)
		if err != nil || p.Decoded != c.decoded || p.Escaped != c.escaped {
			t.Errorf("%q: got %q, escaped %q, %v, want %q, escaped %q", c.in, p.Decoded, p.Escaped, err, c.decoded, c.escaped)
		}
	}
}

func TestAmbiguousPathIsRejected(t *testing.T) {
	for in, want := range map[string]error{
		"/a%2fb": errSlash, "/%2Fa": errSlash, "/.%2fa": errSlash, "/..%2Fa": errSlash, `/a%2fb"`: errSlash,
		`/a\b`: errBackslash, "/a%5cb": errBackslash, "/..%5C": errBackslash,
		"/a%00": errControl, "/a%0d%0aX": errControl, "/%7f": errControl, "/%09": errControl,
		"/a#b": errFragment, "/..;/a": errDotParams, "/.;x/a": errDotParams, "/a/%2e%2e;x": errDotParams, "/..%3b": errDotParams,
	} {
		if p, err := ParsePath(parse(t, in), false); err != want {
			t.Errorf("%q: got %+v, %v, want %v", in, p, err, want)
		}
	}
	if p, err := ParsePath(&url.URL{Path: "/a", RawPath: "/%zz"}, false); err != nil || p.Decoded != "/a" {
		t.Errorf("a RawPath that does not match Path: got %+v, %v, want that of Path", p, err)
	}
}

func TestEncodedSlashIsReadAsSlashOnRequest(t *testing.T) {
	for _, c := range []struct {
		in, decoded string
		resolved    bool
	}{
		{"/@a%2fb", "/@a/b", false}, {"/private%2Fplans", "/private/plans", false}, {"/%2fa", "/a", true}, {"/a/..%2fb", "/b", true}, {"/a%2f", "/a/", false},
		{"/a%2f%2e%2e", "/", true}, {"/a/b", "/a/b", false}, {"/a//b", "/a/b", true},
	} {
		p, err := ParsePath(parse(t, c.in), true)
		slash := strings.Contains(strings.ToLower(c.in), "%2f")
		if err != nil || p.Decoded != c.decoded || p.Raw != c.in || p.Resolved != c.resolved || p.EncodedSlash != slash {
			t.Errorf("%q: got %+v, %v, want %+v", c.in, p, err, c)
		}
	}
	if _, err := ParsePath(parse(t, "/a%2f..%5c"), true); err != errBackslash {
		t.Errorf("a backslash: %v, want %v", err, errBackslash)
	}
}

func TestEncodedSlashInParametersIsRejected(t *testing.T) {
	for in, want := range map[string]error{"/a;x%2fb": errSlashParam, "/a%3Bx/b%2fc;%2F": errSlashParam, "/a%2fb;x/c": nil, "/a;x/b%2fc": nil} {
		if _, err := ParsePath(parse(t, in), true); err != want {
			t.Errorf("%s: got %v, want %v", in, err, want)
		}
	}
}

func TestWithoutParamsRemovesPathParameters(t *testing.T) {
	for path, want := range map[string]string{"/a;x/b;y=z;w": "/a/b", "/a/;x": "/a/", "/;x/a": "/a", "/;": "/", "/a;": "/a"} {
		if got, ok := WithoutParams(path); got != want || !ok {
			t.Errorf("%q: got %q, %v, want %q", path, got, ok, want)
		}
	}
	if got, ok := WithoutParams("/a/b"); got != "/a/b" || ok {
		t.Errorf("a path without: got %q, %v, want it as it was", got, ok)
	}
}

func TestIsBelowComparesWholeSegments(t *testing.T) {
	for _, c := range []struct {
		folder, path string
		want         bool
	}{
		{"/admin", "/admin", true}, {"/admin", "/admin/", true}, {"/admin", "/admin/x/y", true}, {"/admin", "/administrator", false}, {"/admin", "/", false},
		{"/admin", "/x/admin", false}, {"", "/", true}, {"", "/x", true}, {"/a/b", "/a", false},
	} {
		if got := IsBelow(c.folder, c.path); got != c.want {
			t.Errorf("%q below %q: got %v, want %v", c.path, c.folder, got, c.want)
		}
	}
}

// parse parses a target as an engine does.
func parse(t testing.TB, target string) *url.URL {
	t.Helper()
	u, err := url.ParseRequestURI(target)
	if err != nil {
		t.Fatalf("%q: got %v, want a target that net/url parses", target, err)
	}
	return u
}

// FuzzPath checks the rules against each other: a canonical path stays unchanged and has nothing
// left to interpret.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"/", "/a%2fb", "/%2e%2E/a", "/a//./../b/..", "/..;x", `/\`, "/%5c", "/a(b)%28", "/\xff%c0%af", "/%25%32%66", "/;/.;", "/a%3b"} {
		f.Add(seed, false)
		f.Add(seed, true)
	}
	f.Fuzz(func(t *testing.T, target string, slashes bool) {
		u, err := url.ParseRequestURI(target)
		if err != nil || u.Scheme != "" {
			return
		}
		was := IsPath(u.Path, u.RawPath)
		p, err := ParsePath(u, slashes)
		if err != nil {
			if was {
				t.Fatalf("%q: got %v, want it accepted: it is canonical", target, err)
			}
			return
		}
		if was && (p.Decoded != u.Path || p.Escaped != u.EscapedPath() || p.Resolved || p.EncodedSlash) {
			t.Fatalf("%q: got %+v, want it unchanged: it is canonical", target, p)
		}
		for segment := range strings.SplitSeq(p.Decoded[1:], "/") {
			if name, _, _ := strings.Cut(segment, ";"); name == "." || name == ".." || strings.ContainsAny(segment, "\\\x00\r\n") {
				t.Fatalf("%q: got %q, want no dot segment, backslash, NUL or line end", target, p.Decoded)
			}
		}
		if strings.Contains(p.Decoded, "//") || strings.Contains(strings.ToLower(p.Escaped), "%2f") {
			t.Fatalf("%q: got %+v, want no empty segment and no encoded slash", target, p)
		}
		again := parse(t, p.Escaped)
		if again.Path != p.Decoded || !IsPath(again.Path, again.RawPath) {
			t.Fatalf("%q: the canonical form %q: got path %q, raw path %q, want %q in canonical form", target, p.Escaped, again.Path, again.RawPath, p.Decoded)
		}
		if next, err := ParsePath(again, false); err != nil || next.Decoded != p.Decoded || next.Escaped != p.Escaped {
			t.Fatalf("%q: the canonical form again: got %+v, %v, want %+v", target, next, err, p)
		}
	})
}

func BenchmarkIsPath(b *testing.B) {
	for _, path := range []string{"/", "/static/js/vendor/app-2f3c9a.min.js"} {
		b.Run(path, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !IsPath(path, "") {
					b.Fatal(path)
				}
			}
		})
	}
}
