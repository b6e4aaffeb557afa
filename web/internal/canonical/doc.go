// Package canonical computes the one form of a request's path and host on which every access
// decision is made, so that no two spellings of a name are treated differently.
//
// # Paths
//
// The canonical path begins with a slash, is percent-decoded once, and has no empty segment and no
// dot segment (RFC 3986, 5.2.4 and 6.2.2). Its escaped form, which upstreams are sent, differs from
// it only in percent encoding: unreserved characters are decoded, hexadecimal digits are upper
// case, reserved characters stay as the client wrote them, and everything else is encoded.
//
// An error names what has no canonical form, because programs disagree on what it means: an encoded
// slash, a backslash, a control character, a '#', a dot segment with parameters ("..;x"). A caller
// that serves an upstream which needs encoded slashes can have them read as slashes instead.
//
// # Hosts
//
// The canonical host is in lower case, without a trailing dot and without the default port of the
// scheme (RFC 9110, 4.2.3). IPv6 addresses have the form of RFC 5952. An error names what is
// neither a name nor an address: an address with a zone, a user, a path, an empty label.
//
// # Limitations
//
// A ';' elsewhere, a second layer of encoding (%252F) and bytes that are no UTF-8 are data like any
// other. Who decides on a path that may go to a program which gives segments parameters (";x")
// looks at WithoutParams, too. Upper and lower case differ in a path, and so do the several ways to
// write a letter in Unicode, even where a file system does not tell them apart. Other ways to write
// an IPv4 address (127.1) are names.
package canonical
