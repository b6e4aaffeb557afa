// Package cgi runs programs that answer requests. [New] starts a program for each exchange
// (CGI/1.1, RFC 3875). [NewFastCGI] sends the request to a running application, such as PHP's, by
// the FastCGI protocol of package fcgi.
//
// The set-up of a response waits for the program's header, so the components block. Width exchanges
// may wait for headers, Queue more may wait for a place, and further ones are answered by 503. The
// body is copied in the content phase. A body of unknown length is flushed after each read.
//
// # Scripts of a directory
//
// With [FastCGIConfig.Split], a path names a script of the directory, and a directory its index
// script; without the final slash it is redirected. [FastCGIConfig.Fallback] is the script for all
// other paths, the front controller of an application such as WordPress. It learns the requested
// path from REQUEST_URI, and gets no PATH_INFO. Access is decided on the requested path: the
// script's own is matched against no route and no condition.
//
// # Environment
//
// A program's environment has the variables of RFC 3875, section 4.1, and a few that are common:
// REQUEST_URI, DOCUMENT_ROOT, SCRIPT_FILENAME, HTTPS, REMOTE_PORT. It has the request's fields as
// HTTP_*, and the variables of the Config, but none of the server's own. PATH_INFO and REQUEST_URI
// contain the canonical path.
//
// The field Proxy, and fields with other characters than letters, digits and hyphens, are omitted,
// because two of them could become one variable. X-Forwarded-For and similar fields are omitted
// unless a trusted proxy has passed the request on. A request cannot set a variable of the Config.
//
// The request's body is read into an unlinked file before the program starts. The program must know
// its length, does not wait for a slow client, and never gets an incomplete body.
//
// # Processes
//
// A CGI program runs in a process group of its own. The group is killed when the program exits,
// when the client disconnects, when its time is over, and when the response has been sent. So
// children that keep the output open do not delay an exchange, and no process is left. A process
// that leaves the group and keeps the output open is not waited for.
//
// The header has a largest size. A header that is invalid, incomplete, or begins with a status line
// (a "non-parsed header" program) is answered by 502, a timeout by 504. [web.Conn.Err] has the
// reason with the end of the program's standard error.
//
// A body is aborted when no data arrive for the idle timeout. A program that a signal ends after
// its header closes the client's connection. A non-zero exit status is only reported by Err,
// because many programs return one by accident. A program that takes longer than a second to exit
// after it has closed its output is killed.
//
// # Limitations
//
// A redirect to a path of the same server is sent to the client as 302; RFC 3875, section 6.2.2,
// lets the server follow it. A query without "=" is not split into arguments (section 4.4), because
// that has been used to attack many programs.
//
// Processes of the same user can read a program's environment, so it does not contain
// Authorization; FastCGI applications do get it. FastCGI connections are not reused. A user who can
// change links below Dir decides which programs run.
package cgi
