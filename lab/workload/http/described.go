package http

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"weir/lab/workload/http/httpload"
)

// sizeHere stands in paths for the size of the load.
const sizeHere = "{size}"

// checkMix reads the file of described requests, and returns what is wrong with these.
func (l *Load) checkMix(workload string) string {
	var err error
	switch {
	case workload != Requests && (l.MixFile != "" || len(l.Mix) > 0 || l.HTTP2 || l.Streams != 0):
		return "mix, request, http2 and streams are for the workload requests: leave them out, or set that"
	case l.Streams < 0 || l.Streams > maxStreams || l.Streams > 0 && !l.HTTP2:
		return fmt.Sprintf("streams must be from 1 to %d, and are for http2", maxStreams)
	case l.HTTP2 && l.NoKeepAlive:
		return "http2 keeps its connections: leave no_keep_alive out"
	case l.MixFile != "":
		l.Mix, err = httpload.ReadMix(l.MixFile)
	case len(l.Mix) > 0:
		for i := range l.Mix {
			err = errors.Join(err, l.Mix[i].ReadFiles("."))
		}
		err = cmp.Or(err, httpload.CheckMix(l.Mix))
	}
	if err != nil {
		return strings.TrimPrefix(err.Error(), "load: ")
	}
	return ""
}

// checkSize returns what is wrong with the size; empty if nothing is.
func (l *Load) checkSize(workload string) string {
	inPath := strings.Contains(l.Path, sizeHere) || slices.ContainsFunc(l.Mix, func(r httpload.Request) bool { return strings.Contains(r.Path, sizeHere) })
	switch {
	case l.Size == 0 && !inPath:
		return ""
	case workload != Requests:
		return "size is for the workload requests: leave it out, or set that"
	case l.Size < 1 || l.Size > httpload.MaxBody:
		return fmt.Sprintf("a size of %d bytes is out of range: give 1 to %d", l.Size, httpload.MaxBody)
	case len(l.Mix) > 0 && !inPath:
		return "size replaces {size} in the path of a described request, and none has it: add it, or leave size out"
	}
	return ""
}

// target returns the path and query of a plain request.
func (l *Load) target() string { return l.sized(l.Path) }

func (l *Load) sized(path string) string {
	return strings.ReplaceAll(path, sizeHere, strconv.Itoa(l.Size))
}

// mix returns the described requests; none for a plain GET.
func (l *Load) mix() []httpload.Request {
	if len(l.Mix) == 0 && l.Size > 0 && l.target() == l.Path {
		return []httpload.Request{{Method: http.MethodPost, Path: l.Path, Body: strings.Repeat("x", l.Size), Status: "2xx"}}
	}
	all := slices.Clone(l.Mix)
	for i := range all {
		all[i].Path = l.sized(all[i].Path)
	}
	return all
}

// described returns the requests of the load.
func (l *Load) described() []httpload.Request {
	if mix := l.mix(); len(mix) > 0 {
		return mix
	}
	return []httpload.Request{{Path: l.target(), Check: httpload.Check{Same: true}}}
}

// summary describes the described requests in the results: the first of them, and a digest of all.
// That of a sweep over sizes is the same for all.
func (l *Load) summary() string {
	if len(l.Mix) == 0 {
		return ""
	}
	text, err := httpload.FormatMix(l.Mix)
	if err != nil {
		return ""
	}
	first := cmp.Or(l.Mix[0].Method, "GET") + " " + cmp.Or(l.Mix[0].Path, l.Path)
	if len(l.Mix) > 1 {
		first += fmt.Sprintf(" and %d more", len(l.Mix)-1)
	}
	return fmt.Sprintf("%s, SHA-256 %.8x", first, sha256.Sum256(text))
}
