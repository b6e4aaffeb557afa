package http

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// maxClockLag is how much older than its response a Date may be: servers write it about once a
// second.
const maxClockLag = 5 * time.Second

// fields checks the fields of a file's response that are work for a server: ETag, Last-Modified and
// Date, 304 for a client that has the file, and ranges. A subject may lack what its description
// says it lacks, and must lack that.
func fields(b *bench) error {
	v, err := b.dialHTTP()
	if err != nil {
		return err
	}
	before := time.Now()
	page, err := v.do("GET", pagePath)
	if err != nil {
		return err
	}
	text, err := v.do("GET", textPath)
	if err != nil {
		return err
	}
	for _, name := range []string{"ETag", "Last-Modified", "Date"} {
		value := text.Header.Get(name)
		if err := b.mustHave(name, value != "", fmt.Sprintf("expected the field %s, saw none", name), fmt.Sprintf("saw %q", value)); err != nil {
			return err
		}
	}
	if tag := text.Header.Get("ETag"); tag != "" && tag == page.Header.Get("ETag") {
		return fmt.Errorf("expected different ETags of two files, saw %s for both", tag)
	}
	if err := b.checkTimes(text, before); err != nil {
		return err
	}
	if err := b.conditional(v, text); err != nil {
		return err
	}
	return b.partial(v)
}

// mustHave returns an error if a subject does not have what it has to have, or has what it says it
// lacks. missing is the error about the former, seen is part of the error about the latter.
func (b *bench) mustHave(name string, has bool, missing, seen string) error {
	switch lacks := slices.Contains(b.Subject.Lacks, name); {
	case has && lacks:
		return fmt.Errorf("expected no %s, because the subject.toml says lacks = [%q], %s", name, name, seen)
	case !has && !lacks:
		return fmt.Errorf("%s: a server that lacks it by nature says so by lacks = [%q] in its subject.toml", missing, name)
	}
	return nil
}

// checkTimes checks that Date is the time of the response, and Last-Modified the time of the file.
func (b *bench) checkTimes(a response, before time.Time) error {
	if text := a.Header.Get("Date"); text != "" {
		earliest, latest := before.Add(-maxClockLag), time.Now().Add(time.Second)
		date, err := http.ParseTime(text)
		if err != nil || date.Before(earliest) || date.After(latest) {
			return fmt.Errorf("expected a Date from %s to %s, saw %q", earliest.UTC().Format(http.TimeFormat), latest.UTC().Format(http.TimeFormat), text)
		}
	}
	info, err := os.Stat(filepath.Join(b.www.dir, textPath))
	if err != nil {
		return err
	}
	want := info.ModTime().UTC().Format(http.TimeFormat)
	if text := a.Header.Get("Last-Modified"); text != "" && text != want {
		return fmt.Errorf("expected the Last-Modified of the file, %q, saw %q", want, text)
	}
	return nil
}

// conditional checks that a client that has the file receives 304 and no body.
func (b *bench) conditional(v *httpConn, a response) error {
	name, value := "If-None-Match", a.Header.Get("ETag")
	if value == "" {
		name, value = "If-Modified-Since", a.Header.Get("Last-Modified")
	}
	if value == "" {
		return nil
	}
	again, err := v.do("GET", textPath, name+": "+value)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return b.mustHave("304", again.StatusCode == http.StatusNotModified && len(again.body) == 0,
		fmt.Sprintf("%s: expected status 304, saw %s", name, again.Status), "saw one after "+name)
}

// partial checks a request for a range of the file.
func (b *bench) partial(v *httpConn) error {
	const first, last = 5, 14
	a, err := v.do("GET", textPath, fmt.Sprintf("Range: bytes=%d-%d", first, last))
	if err != nil {
		return fmt.Errorf("range: %w", err)
	}
	has := a.StatusCode == http.StatusPartialContent
	if err := b.mustHave("Range", has, "Range: expected status 206, saw "+a.Status, "saw status 206"); err != nil || !has {
		return err
	}
	if want := b.www.files[textPath][first : last+1]; string(a.body) != string(want) {
		return fmt.Errorf("range: expected the %d bytes from byte %d, saw %q", len(want), first, a.body)
	}
	return nil
}
