// Package slash redirects a request for a directory to the path with a final slash, since relative
// links of the directory's page lead elsewhere without it.
//
// # Limitations
//
// The package makes the Location only. The caller chooses the status.
package slash

import "strings"

// Location returns the Location that adds a slash to the path of a request target. ok is false if
// the path has the slash.
//
// The Location is relative: it works behind any prefix of a proxy, and cannot name another host.
func Location(target string) (location string, ok bool) {
	path, query, asked := strings.Cut(target, "?")
	if strings.HasSuffix(path, "/") {
		return "", false
	}
	location = "./" + path[strings.LastIndexByte(path, '/')+1:] + "/"
	if asked {
		location += "?" + query
	}
	return location, true
}
