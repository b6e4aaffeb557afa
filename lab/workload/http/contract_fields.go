package http

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"weir/lab/contract"
)

// maxClockLag is how much older than its response a Date may be: servers write it about once a
// second.
const maxClockLag = 5 * time.Second

// fields checks the fields of a file's response that are work for a server: ETag, Last-Modified and
// Date, 304 for a client that has the file, and ranges. A subject may lack what its description
// says it lacks, and must lack that.
func fields(b *bench) {
	v := b.dial()
	before := time.Now()
	page, text := v.do("GET", pagePath), v.do("GET", textPath)
	for _, name := range []string{"ETag", "Last-Modified", "Date"} {
		value := text.Header.Get(name)
		b.mustHave(name, value != "", fmt.Sprintf("expected the field %s, saw none", name), fmt.Sprintf("saw %q", value))
	}
	tag := text.Header.Get("ETag")
	contract.Expect(tag == "" || tag != page.Header.Get("ETag"), "expected different ETags of two files, saw %s for both", tag)
	b.checkTimes(text, before)
	b.conditional(v, text)
	b.partial(v)
}

// mustHave expects that a subject has what it has to have, and not what it says it lacks. missing
// is the error about the former, seen is part of the error about the latter.
func (b *bench) mustHave(name string, has bool, missing, seen string) {
	switch lacks := slices.Contains(b.Subject.Lacks, name); {
	case has && lacks:
		contract.Failf("expected no %s, because the subject.toml says lacks = [%q], %s", name, name, seen)
	case !has && !lacks:
		contract.Failf("%s: a server that lacks it by nature says so by lacks = [%q] in its subject.toml", missing, name)
	}
}

// checkTimes checks that Date is the time of the response, and Last-Modified the time of the file.
func (b *bench) checkTimes(a response, before time.Time) {
	if text := a.Header.Get("Date"); text != "" {
		earliest, latest := before.Add(-maxClockLag), time.Now().Add(time.Second)
		date, err := http.ParseTime(text)
		contract.Expect(err == nil && !date.Before(earliest) && !date.After(latest), "expected a Date from %s to %s, saw %q", earliest.UTC().Format(http.TimeFormat), latest.UTC().Format(http.TimeFormat), text)
	}
	info, err := os.Stat(filepath.Join(b.www.dir, textPath))
	contract.Must(err)
	want := info.ModTime().UTC().Format(http.TimeFormat)
	text := a.Header.Get("Last-Modified")
	contract.Expect(text == "" || text == want, "expected the Last-Modified of the file, %q, saw %q", want, text)
}

// conditional checks that a client that has the file receives 304 and no body.
func (b *bench) conditional(v *conn, a response) {
	name, value := "If-None-Match", a.Header.Get("ETag")
	if value == "" {
		name, value = "If-Modified-Since", a.Header.Get("Last-Modified")
	}
	if value == "" {
		return
	}
	var again response
	contract.During(name, func() { again = v.do("GET", textPath, name+": "+value) })
	b.mustHave("304", again.StatusCode == http.StatusNotModified && len(again.body) == 0,
		fmt.Sprintf("%s: expected status 304, saw %s", name, again.Status), "saw one after "+name)
}

// partial checks a request for a range of the file.
func (b *bench) partial(v *conn) {
	const first, last = 5, 14
	var a response
	contract.During("range", func() { a = v.do("GET", textPath, fmt.Sprintf("Range: bytes=%d-%d", first, last)) })
	has := a.StatusCode == http.StatusPartialContent
	b.mustHave("Range", has, "Range: expected status 206, saw "+a.Status, "saw status 206")
	want := b.www.files[textPath][first : last+1]
	contract.Expect(!has || bytes.Equal(a.body, want), "range: expected the %d bytes from byte %d, saw %q", len(want), first, a.body)
}
