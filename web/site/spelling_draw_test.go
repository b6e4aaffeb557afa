package site

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// spell draws a spelling of a protected target.
func (s *protectedSite) spell(r *rapid.T) spelled {
	target := encode(s.plainTarget(r))
	if target == "" {
		target = "/"
	}
	for range rapid.IntRange(0, 4).Draw(r, "changes") {
		target = rapid.SampledFrom(changes).Draw(r, "change")(r, target)
	}
	host := s.plainHost()
	if rapid.IntRange(0, 3).Draw(r, "another host") == 0 || s.host != "" && s.folder == "" {
		host = rapid.SampledFrom(hostSpellings).Draw(r, "host")(r, host)
	}
	ask := spelled{method: "GET", host: host, target: target}
	switch rapid.IntRange(0, 9).Draw(r, "form") {
	case 0:
		ask.target = rapid.SampledFrom([]string{"http://", "https://", "HTTP://"}).Draw(r, "scheme") + host + target
		ask.host = rapid.SampledFrom([]string{host, "example.org", ""}).Draw(r, "host beside")
	case 1:
		ask.method = rapid.SampledFrom([]string{"HEAD", "POST", "get", "OPTIONS", "PROPFIND", "CONNECT", "TRACE"}).Draw(r, "method")
	}
	return ask
}

// slashes are strings that programs may take for a slash, or for nothing between two slashes.
var slashes = []string{
	"//", "///", "/./", "/%2e/", "/.//", "/x/../", "/x/%2e%2E/", "/x/.%2e/", "/x//../", "/x/y/../../", "/../", "/%2e./", "%2f", "%2F", "/%2f", "%2f/", "/.%2f", "%2f..%2f", "/x%2f../",
	`\`, "%5c", "%5C", `/\`, `/x\..\`, "/;/", "/;x/", "/.;/", "/..;/", "/x/..;/", "/x/..;y=z/", "/x/..%3b/", "%252f", "/%252e/", "%c0%af", "/%c0%ae/", "%ef%bc%8f", "/%20/../", "/%00/", "/%09/", "/./././", "/.../",
}

// ends are suffixes of a path that some programs ignore.
var ends = []string{
	"/", "/.", "/x/..", "/%2e", "%2f", "%2F.", "//", "%00", "%00.html", "%20", "%0a", ".", "..", "?", "??", "?x=/../", "%3f", "%3Fx", "#", "%23", ";x", ";", "/;x", "%3bx", `\`, "%5c", ".gz", ".br", "::$DATA", "~", "%",
	"%2", "%zz", "/../plans.txt", "/./plans.txt", "/..%2fplans.txt", "/%2e%2e%2fplans.txt",
}

// starts are prefixes of a path that some programs ignore.
var starts = []string{"/", "//", "/.", "/..", "/%2e", "/%2E%2e", "/x/..", "/x/%2e.", "/%2f", "/.%2f", "/..%2f", "%2f", "/x%2f..", "/;", "/..;", "/.;x", "\\", "/\\", "/%5c", "/%5c..", "//example.org", "/x//..", "/other/.."}

// changes are functions that change the spelling of a target.
var changes = []func(*rapid.T, string) string{
	func(r *rapid.T, s string) string { // another slash
		i := indexOf(r, s, '/')
		return s[:i] + rapid.SampledFrom(slashes).Draw(r, "slash") + s[min(len(s), i+1):]
	},
	func(r *rapid.T, s string) string { return rapid.SampledFrom(starts).Draw(r, "start") + s },
	func(r *rapid.T, s string) string { return s + rapid.SampledFrom(ends).Draw(r, "end") },
	encodeOne, encodeOne,
	func(r *rapid.T, s string) string { // twice
		i := at(r, s)
		return fmt.Sprintf("%s%%25%02x%s", s[:i], s[i], s[i+1:])
	},
	func(r *rapid.T, s string) string { // the other case
		i := at(r, s)
		c := s[i : i+1]
		if upper := strings.ToUpper(c); upper != c {
			return s[:i] + upper + s[i+1:]
		}
		return s[:i] + strings.ToLower(c) + s[i+1:]
	},
	func(r *rapid.T, s string) string { // without encoding
		return strings.NewReplacer("%20", "+", "%C3%A4", "ä").Replace(s)
	},
}

// encodeOne percent-encodes one byte, whether necessary or not.
func encodeOne(r *rapid.T, s string) string {
	i := at(r, s)
	format := rapid.SampledFrom([]string{"%s%%%02x%s", "%s%%%02X%s"}).Draw(r, "digits")
	return fmt.Sprintf(format, s[:i], s[i], s[i+1:])
}

// at draws an index of a text that is not empty.
func at(r *rapid.T, s string) int { return rapid.IntRange(0, len(s)-1).Draw(r, "at") }

// indexOf draws the index of a byte c in a text, or returns the text's length if there is none.
func indexOf(r *rapid.T, s string, c byte) int {
	n := strings.Count(s, string(c))
	if n == 0 {
		return len(s)
	}
	i := -1
	for range rapid.IntRange(1, n).Draw(r, "which") {
		i += 1 + strings.IndexByte(s[i+1:], c)
	}
	return i
}

// hostSpellings are functions that change the spelling of a host.
var hostSpellings = []func(*rapid.T, string) string{
	func(r *rapid.T, s string) string { return strings.ToUpper(s) },
	func(r *rapid.T, s string) string { i := at(r, s); return s[:i] + strings.ToUpper(s[i:i+1]) + s[i+1:] },
	func(r *rapid.T, s string) string {
		return s + rapid.SampledFrom([]string{".", ":", ":80", ":443", ":080", ".:80", ":8080", "..", "/", "/x", "?", "#", "%00", "%2e", " ", ":x", "\\", ",example.org", ";", ":80:80"}).Draw(r, "behind")
	},
	func(r *rapid.T, s string) string {
		return rapid.SampledFrom([]string{"ann@", "ann:x@", ".", "%61@", "http://", "//", "example.org@", "example.org,", " "}).Draw(r, "before") + s
	},
	func(r *rapid.T, s string) string {
		i := at(r, s)
		return fmt.Sprintf("%s%%%02x%s", s[:i], s[i], s[i+1:])
	},
	func(r *rapid.T, s string) string {
		return rapid.SampledFrom([]string{"", "example.org", "[::1]", "127.0.0.1", "localhost", "adm\u0131n.example.org", "\uff41dmin.example.org"}).Draw(r, "another")
	},
}
