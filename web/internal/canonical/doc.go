// Package canonical computes the canonical form of a request's path and host. Every access decision
// is made on it, so that no two spellings of a name are treated differently.
//
// # Paths
//
// The canonical path starts with a slash, is percent-decoded once, and has no empty segment and no
// dot segment (RFC 3986, sections 5.2.4 and 6.2.2). Upstreams receive its escaped form, which
// differs in percent encoding only: unreserved characters are decoded, hexadecimal digits are upper
// case, reserved characters stay as the client wrote them, and everything else is encoded.
//
// A path that programs interpret differently has no canonical form, and an error names the reason:
// an encoded slash, a backslash, a control character, a '#', a dot segment with parameters
// ("..;x"). For an upstream that needs encoded slashes, the caller can have them read as slashes
// instead.
//
// # Hosts
//
// The canonical host is in lower case, without a trailing dot and without the default port of the
// scheme (RFC 9110, section 4.2.3). IPv6 addresses have the form of RFC 5952. An error names a host
// that is neither a name nor an address: an address with a zone, a user, a path, an empty label.
//
// # Limitations
//
// A ';' elsewhere, a second layer of encoding (%252F) and bytes that are not UTF-8 are ordinary
// data. Some upstreams give path segments parameters (";x"): code that decides on a path for them
// must check WithoutParams, too. Paths are case-sensitive, and the different Unicode encodings of a
// letter are different, even where a file system treats them as the same. Other spellings of an
// IPv4 address (127.1) are names.
package canonical
