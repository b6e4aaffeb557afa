package conformance

import "strings"

const (
	get  = "GET / HTTP/1.1\r\nHost: a\r\n"
	post = "POST / HTTP/1.1\r\nHost: a\r\n"
)

// to returns a request without content: "GET /" becomes a whole head.
func to(methodAndTarget string) string {
	return methodAndTarget + " HTTP/1.1\r\nHost: a\r\n\r\n"
}

// targets: the four forms of a request target, and what may be in one.
var targets = []Row{
	{"origin-form", "9112, 3.2.1", to("GET /a/b"), "GET /a/b"},
	{"origin-form: the root", "9112, 3.2.1", to("GET /"), "GET /"},
	{"origin-form: a query", "9112, 3.2.1", to("GET /a?b=c&d"), "GET /a?b=c&d"},
	{"origin-form: an empty query", "9112, 3.2.1", to("GET /a?"), "GET /a?"},
	{"origin-form: a question mark within the query", "9112, 3.2.1", to("GET /a?b?c"), "GET /a?b?c"},
	{"origin-form: two slashes first are no authority", "9112, 3.2.1", to("GET //b/c"), "GET //b/c"},
	{"origin-form: dot segments are as received", "9112, 3.2.1", to("GET /a/../b"), "GET /a/../b"},
	{"origin-form: sub-delimiters", "9112, 3.2.1", to("GET /!$&'()*+,;=:@-._~"), "GET /!$&'()*+,;=:@-._~"},
	{"origin-form: an escaped slash", "9112, 3.2.1", to("GET /a%2Fb"), "GET /a%2Fb"},
	{"origin-form: an escaped NUL", "9112, 3.2.1", to("GET /a%00b"), "GET /a%00b"},
	{"origin-form: an escape of one digit", "9112, 3.2.1", to("GET /a%2"), "400"},
	{"origin-form: an escape without digits", "9112, 3.2.1", to("GET /%zz"), "400"},
	{"origin-form: an escape without digits in the query", "9112, 3.2.1", to("GET /?%zz"), "GET /?%zz"},
	{"origin-form: a URI as the path", "9112, 3.2.1", to("GET /http://b/"), "GET /http://b/"},
	{"origin-form: bytes above 127", "9112, 3.2", to("GET /\xc3\xa9"), "GET /\u00e9"},
	{"origin-form: braces and a bar", "9112, 3.2", to("GET /{|}"), "GET /{|}"},
	{"a path of 8,000 bytes", "9110, 4.1", to("GET /?" + strings.Repeat("q", 8000)), "GET /?" + strings.Repeat("q", 8000)},
	{"a target that is too long", "9112, 3", to("GET /" + strings.Repeat("a", 70_000)), "414"},
	{"no target", "9112, 3", "GET HTTP/1.1\r\nHost: a\r\n\r\n", "400"},
	{"an empty target", "9112, 3", to("GET "), "400"},
	{"a path without a slash", "9112, 3.2", to("GET a/b"), "400"},
	{"a query alone", "9112, 3.2", to("GET ?a"), "400"},
	{"a fragment", "9112, 3.2", to("GET /a#b"), "400"},
	{"a space within the target", "9112, 3.2", to("GET /a b"), "400"},
	{"a tab within the target", "9112, 3.2", to("GET /a\tb"), "400"},
	{"a NUL within the target", "9112, 3.2", to("GET /a\x00b"), "400"},
	{"a control character within the target", "9112, 3.2", to("GET /a\x01b"), "400"},
	{"DEL within the target", "9112, 3.2", to("GET /a\x7fb"), "400"},
	{"a bare CR within the target", "9112, 2.2", to("GET /a\rb"), "400"},

	{"absolute-form", "9112, 3.2.2", to("GET http://a/b?c"), "GET http://a/b?c"},
	{"absolute-form: https", "9112, 3.2.2", to("GET https://a/b"), "GET https://a/b"},
	{"absolute-form: the scheme knows no case", "9110, 4.2.3", to("GET HTTP://a/b"), "GET HTTP://a/b"},
	{"absolute-form: an empty path", "9110, 4.2.3", to("GET http://a"), "GET http://a"},
	{"absolute-form: a query behind an empty path", "9112, 3.2.2", to("GET http://a?b"), "GET http://a?b"},
	{"absolute-form: its host replaces that of Host", "9112, 3.2.2", to("GET http://b/c"), "GET http://b/c @b"},
	{"absolute-form: its port replaces that of Host", "9112, 3.2.2", to("GET http://a:81/"), "GET http://a:81/ @a:81"},
	{"absolute-form: an IPv6 address", "9112, 3.2.2", to("GET http://[::1]:81/"), "GET http://[::1]:81/ @[::1]:81"},
	{"absolute-form: an empty Host beside it", "9112, 3.2.2", "GET http://b/ HTTP/1.1\r\nHost:\r\n\r\n", "GET http://b/ @b"},
	{"absolute-form: no Host beside it", "9112, 3.2", "GET http://b/ HTTP/1.1\r\n\r\n", "400"},
	{"absolute-form: HTTP/1.0", "9112, 3.2.2", "GET http://b/ HTTP/1.0\r\n\r\n", "GET http://b/ @b; close"},
	{"absolute-form: OPTIONS of a host", "9112, 3.2.4", to("OPTIONS http://a"), "OPTIONS http://a"},
	{"absolute-form: a user", "9110, 4.2.4", to("GET http://u@a/"), "400"},
	{"absolute-form: a user and a password", "9110, 4.2.4", to("GET http://u:p@a/"), "400"},
	{"absolute-form: no host", "9110, 4.2.1", to("GET http:///b"), "400"},
	{"absolute-form: no host but a port", "9110, 4.2.1", to("GET http://:80/b"), "400"},
	{"absolute-form: no host but a query", "9110, 4.2.1", to("GET http://?b"), "400"},
	{"absolute-form: no authority", "9110, 4.2.1", to("GET http:/b"), "400"},
	{"absolute-form: https without a host", "9110, 4.2.2", to("GET https:///b"), "400"},
	{"absolute-form: a port that is no number", "9110, 4.2.1", to("GET http://a:b/"), "400"},
	{"absolute-form: a bracket that stays open", "9110, 4.2.1", to("GET http://[::1/"), "400"},
	{"absolute-form: another scheme", "9112, 3.2.2", to("GET ftp://a/b"), "400"},
	{"absolute-form: no scheme", "9112, 3.2.2", to("GET ://a/b"), "400"},

	{"authority-form", "9112, 3.2.3", to("CONNECT b:443"), "CONNECT b:443 @b:443"},
	{"authority-form: an IPv4 address", "9112, 3.2.3", to("CONNECT 192.0.2.1:443"), "CONNECT 192.0.2.1:443 @192.0.2.1:443"},
	{"authority-form: an IPv6 address", "9112, 3.2.3", to("CONNECT [2001:db8::1]:443"), "CONNECT [2001:db8::1]:443 @[2001:db8::1]:443"},
	{"authority-form: a long name", "9112, 3.2.3", to("CONNECT name.of.a.long.host.example:65535"), "CONNECT name.of.a.long.host.example:65535 @name.of.a.long.host.example:65535"},
	{"authority-form: no port", "9110, 9.3.6", to("CONNECT b"), "400"},
	{"authority-form: no port behind a long name", "9110, 9.3.6", to("CONNECT name.of.a.long.host.example"), "400"},
	{"authority-form: an empty port", "9110, 9.3.6", to("CONNECT b:"), "400"},
	{"authority-form: a port that is no number", "9110, 9.3.6", to("CONNECT b:c"), "400"},
	{"authority-form: a port beyond 65535", "9110, 9.3.6", to("CONNECT b:65536"), "400"},
	{"authority-form: a port of many digits", "9110, 9.3.6", to("CONNECT b:18446744073709551617"), "400"},
	{"authority-form: port 0", "9110, 9.3.6", to("CONNECT b:0"), "400"},
	{"authority-form: two ports", "9110, 9.3.6", to("CONNECT b:1:2"), "400"},
	{"authority-form: no host", "9112, 3.2.3", to("CONNECT :443"), "400"},
	{"authority-form: a user", "9112, 3.2.3", to("CONNECT u@b:443"), "400"},
	{"authority-form: a path behind it", "9112, 3.2.3", to("CONNECT b:443/c"), "400"},
	{"authority-form: IPv6 without brackets", "9112, 3.2.3", to("CONNECT 2001:db8::1:443"), "400"},
	{"CONNECT with a path", "9112, 3.2.3", to("CONNECT /b"), "400"},
	{"CONNECT with a URI", "9112, 3.2.3", to("CONNECT http://b:443/"), "400"},
	{"CONNECT with an asterisk", "9112, 3.2.3", to("CONNECT *"), "400"},
	{"authority-form with another method", "9112, 3.2.3", to("GET b:443"), "400"},

	{"asterisk-form", "9112, 3.2.4", to("OPTIONS *"), "OPTIONS *"},
	{"OPTIONS with a path", "9112, 3.2.4", to("OPTIONS /b"), "OPTIONS /b"},
	{"an asterisk with another method", "9112, 3.2.4", to("GET *"), "400"},
	{"an asterisk with more behind it", "9112, 3.2.4", to("OPTIONS *a"), "400"},
	{"two asterisks", "9112, 3.2.4", to("OPTIONS **"), "400"},
}
