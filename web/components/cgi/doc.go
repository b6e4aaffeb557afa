// Package cgi answers exchanges by programs: [New] starts one for each exchange (CGI/1.1, RFC 3875),
// [NewFastCGI] asks one that runs already, such as PHP's, by the FastCGI protocol of package fcgi.
//
// The set-up of a response waits for the program's head, so the components block: of what comes at
// once, Width exchanges wait for heads, Queue wait for that, and the rest is refused with 503. The
// body is copied in the content phase; one whose length the program has not told is flushed at each
// read.
//
// # What a program sees
//
// A clean environment: the variables of RFC 3875 section 4.1, a few that programs have come to
// expect (REQUEST_URI, DOCUMENT_ROOT, SCRIPT_FILENAME, HTTPS, REMOTE_PORT), the request's fields as
// HTTP_*, those of the Config, and nothing of the server's own. PATH_INFO and REQUEST_URI have the
// canonical path. The field Proxy and fields with other characters than letters, digits and hyphens
// are left out, since they could be taken for others, and so are X-Forwarded-For and its like,
// unless a trusted front has passed the request on. A variable of the Config is never the client's
// to set. The request's body is read before the program is asked, into a file without a name: a
// program must be told its length, and neither waits for a slow client nor takes half a body for a
// whole one.
//
// # What is done about a program
//
// A CGI program runs in a process group of its own, which is killed when the program ends, when the
// client has gone, when its time is up, and when the response has been sent: children that keep the
// output open do not hold an exchange up, and nothing is left behind. One that leaves its group and
// keeps the output is not waited for.
//
// Its head has a largest size. What can't be understood, ends too early, or is a whole response
// with a status line (a "non-parsed header" program) is answered by 502, what takes too long by
// 504, and the reason, with the last words from the program's standard error, is [web.Conn.Err]. A
// body of which nothing comes for a while breaks off; a request's body cannot stall on its way to a
// program, since it is in a file. A program that is ended by a signal behind its head cuts the
// client's connection; an exit status other than 0 does not, since many programs do not mind
// theirs, and goes to Err too. A program that takes longer than a second to exit after it has
// closed its output is killed.
//
// # Limitations
//
// Redirects to a path of the same server are sent to the client as 302 (RFC 3875 section 6.2.2
// would have the server follow them). A query without "=" is not split into arguments (section 4.4):
// that has been the way into many a program. A program's environment can be read by processes of
// the same user, so Authorization is not in it; FastCGI applications do get it. FastCGI connections
// are not used twice. Who can change links below Dir decides what runs.
package cgi
