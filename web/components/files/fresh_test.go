package files

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/web"
	"weir/web/internal/webtest"
)

// age sets a file's modification time back. A program cannot set its change time.
func age(t *testing.T, name string, by time.Duration) {
	t.Helper()
	then := time.Now().Add(-by)
	if err := os.Chtimes(name, then, then); err != nil {
		t.Fatal(err)
	}
}

func TestChangedFileIsServedWithinASecond(t *testing.T) {
	dir := tree(t, map[string]string{"f.txt": "one", "sub/index.html": "<p>one"})
	s := serve(t, Config{Dir: dir})
	var tags []string
	show := func(want string) func() bool {
		return func() bool {
			resp, body := get(t, s, "/f.txt")
			if body == want {
				tags = append(tags, resp.Header.Get("Etag"))
			}
			return body == want
		}
	}
	webtest.Until(t, "the file is seen", show("one"))
	// in place, of the same length, perhaps in the same tick of the clock
	write(t, dir, "f.txt", "two")
	begin := time.Now()
	webtest.Until(t, "a change in place is seen", show("two"))
	took := time.Since(begin)
	t.Logf("a change was seen after %v", took)
	write(t, dir, "g", "three")
	if err := os.Rename(filepath.Join(dir, "g"), filepath.Join(dir, "f.txt")); err != nil {
		t.Fatal(err)
	}
	webtest.Until(t, "a replacement is seen", show("three"))
	if err := os.Truncate(filepath.Join(dir, "f.txt"), 2); err != nil {
		t.Fatal(err)
	}
	webtest.Until(t, "a truncation is seen", show("th"))
	for i, tag := range tags {
		for _, other := range tags[:i] {
			if tag == other || tag == "" {
				t.Errorf("got the entity tags %q, want four different ones", tags)
			}
		}
	}
	if err := os.Remove(filepath.Join(dir, "f.txt")); err != nil {
		t.Fatal(err)
	}
	webtest.Until(t, "a removal is seen", func() bool { resp, _ := get(t, s, "/f.txt"); return resp.StatusCode == 404 })
}

// TestChangeWithOldModificationTimeIsSeen changes a file and sets its modification time back.
func TestChangeWithOldModificationTimeIsSeen(t *testing.T) {
	dir := tree(t, map[string]string{"f.txt": "one"})
	name := filepath.Join(dir, "f.txt")
	age(t, name, time.Hour)
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, Config{Dir: dir})
	get(t, s, "/f.txt")
	write(t, dir, "f.txt", "two")
	if err := os.Chtimes(name, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	webtest.Until(t, "a change with the old time is seen", func() bool { _, body := get(t, s, "/f.txt"); return body == "two" })
}

func TestStampIsReliableAfterATick(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	for _, c := range []struct {
		modified, changed time.Duration // before now
		want              bool
	}{
		{time.Hour, time.Hour, true}, {3 * time.Second, 3 * time.Second, true}, {2999 * time.Millisecond, time.Hour, false}, {time.Hour, time.Second, false}, {-time.Hour, time.Hour, false},
	} {
		s := stamp{modified: now.Add(-c.modified).UnixNano(), changed: now.Add(-c.changed).UnixNano()}
		if s.isReliable(now) != c.want {
			t.Errorf("modified %v and changed %v ago: got reliable %v, want %v", c.modified, c.changed, !c.want, c.want)
		}
	}
}

// TestTagsOfLargeFiles checks that tags are unique while the stamp is not reliable, and stable
// afterwards.
func TestTagsOfLargeFiles(t *testing.T) {
	f := new(files)
	young, old := stamp{size: 1, modified: time.Now().UnixNano()}, stamp{size: 1, modified: time.Now().Add(-time.Hour).UnixNano()}
	if a, b := f.stampTag(young), f.stampTag(young); a == b {
		t.Errorf("a file that has just changed: got the tag %s twice, want two tags", a)
	}
	if a, b := f.stampTag(old), f.stampTag(old); a != b {
		t.Errorf("a file that changed an hour ago: got the tags %s and %s, want one tag", a, b)
	}
	other := old
	other.inode++
	if f.stampTag(old) == f.stampTag(other) {
		t.Error("another file with the same times: got the same tag, want another")
	}
}

func TestLargeFilesAndRanges(t *testing.T) {
	text := strings.Repeat("0123456789", 50_000)
	dir := tree(t, map[string]string{"large.bin": text, "small.bin": text[:100]})
	for _, cfg := range []Config{{Dir: dir}, {Dir: dir, Cache: "0"}, {Dir: dir, CacheFile: "1MB"}} {
		s := serve(t, cfg)
		for name, size := range map[string]int{"/large.bin": len(text), "/small.bin": 100} {
			resp, body := get(t, s, name)
			if body != text[:size] || resp.Header.Get("Accept-Ranges") != "bytes" || resp.Header.Get("Last-Modified") == "" {
				t.Errorf("%+v: %s: got %d bytes, %v, want the file with Accept-Ranges and Last-Modified", cfg, name, len(body), resp.Header)
			}
			if resp, body := get(t, s, name, "Range", "bytes=5-14"); resp.StatusCode != 206 || body != "5678901234" || resp.Header.Get("Content-Range") != fmt.Sprintf("bytes 5-14/%d", size) {
				t.Errorf("%+v: a range of %s: got %d %q %v, want 206 with bytes 5 to 14", cfg, name, resp.StatusCode, body, resp.Header)
			}
			if resp, _ := get(t, s, name, "Range", "bytes=9999999-"); resp.StatusCode != 416 {
				t.Errorf("%+v: a range after the end of %s: got %d, want 416", cfg, name, resp.StatusCode)
			}
			if resp, body := get(t, s, name, "Range", "bytes=0-1,4-5"); resp.StatusCode != 206 || !strings.Contains(body, "\r\n\r\n45\r\n") {
				t.Errorf("%+v: two ranges of %s: got %d %q, want 206 with both", cfg, name, resp.StatusCode, body)
			}
		}
		resp, _ := get(t, s, "/small.bin")
		if resp, body := get(t, s, "/small.bin", "If-None-Match", resp.Header.Get("Etag")); cfg.Cache != "0" && (resp.StatusCode != 304 || body != "") {
			t.Errorf("%+v: the same tag: got %d %q, want 304", cfg, resp.StatusCode, body)
		}
		if resp, _ := get(t, s, "/small.bin", "If-Modified-Since", resp.Header.Get("Last-Modified")); resp.StatusCode != 304 {
			t.Errorf("%+v: the same time: got %d, want 304", cfg, resp.StatusCode)
		}
	}
}

func TestEqualContentHasEqualTags(t *testing.T) {
	a, b := tree(t, map[string]string{"f": "x"}), tree(t, map[string]string{"f": "x"})
	one, _ := get(t, serve(t, Config{Dir: a}), "/f")
	two, _ := get(t, serve(t, Config{Dir: b}), "/f")
	if one.Header.Get("Etag") != two.Header.Get("Etag") || !strings.HasPrefix(one.Header.Get("Etag"), `"`) {
		t.Errorf("got %s and %s from two servers of the same small file, want one tag", one.Header.Get("Etag"), two.Header.Get("Etag"))
	}
}

// meddled is a file that is changed before each read, by the function of that index.
type meddled struct {
	*os.File
	before []func()
}

func (m *meddled) ReadAt(p []byte, at int64) (int, error) {
	if len(m.before) > 0 {
		do := m.before[0]
		m.before = m.before[1:]
		if do != nil {
			do()
		}
	}
	return m.File.ReadAt(p, at)
}

// TestBodyNeverMixesVersions writes into a file while it is read.
func TestBodyNeverMixesVersions(t *testing.T) {
	dir := tree(t, map[string]string{"f.txt": "old old"})
	full := filepath.Join(dir, "f.txt")
	info, err := os.Stat(full)
	if err != nil {
		t.Fatal(err)
	}
	put := func(text string, at int64) func() {
		return func() {
			f, err := os.OpenFile(full, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteAt([]byte(text), at); err != nil {
				t.Fatal(err)
			}
			// as if no tick had passed
			if err := os.Chtimes(full, info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
		}
	}
	truncate := func() {
		if err := os.Truncate(full, 3); err != nil {
			t.Fatal(err)
		}
	}
	for what, c := range map[string]struct {
		before []func()
		want   string
	}{
		"nobody":                  {nil, "old old"},
		"between two readings":    {[]func(){put("new", 4), put("new", 0)}, "new new"},
		"and once more":           {[]func(){put("new", 4), put("new", 0), put("xyz", 0), put("xyz", 4)}, "xyz xyz"},
		"truncated":               {[]func(){truncate}, "old"},
		"truncated between":       {[]func(){nil, truncate}, "old"},
		"grown":                   {[]func(){put(" older", 7)}, "old old older"},
		"grown between":           {[]func(){nil, put(" older", 7)}, "old old older"},
		"all the time, then done": {[]func(){nil, put("1", 0), nil, put("2", 0), nil, put("3", 0)}, "3ld old"},
	} {
		write(t, dir, "f.txt", "old old")
		f, err := os.Open(full)
		if err != nil {
			t.Fatal(err)
		}
		data, _, err := readStable(&meddled{f, c.before})
		if err != nil || string(data) != c.want {
			t.Errorf("%s: got %q, %v, want %q", what, data, err, c.want)
		}
		f.Close()
	}
}

func TestFileThatKeepsChangingIsAnsweredBy503(t *testing.T) {
	dir := tree(t, map[string]string{"f.txt": "0"})
	full := filepath.Join(dir, "f.txt")
	f, err := os.Open(full)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m := &meddled{File: f}
	for i := range 100 {
		m.before = append(m.before, func() { write(t, dir, "f.txt", fmt.Sprint(i)) })
	}
	if data, _, err := readStable(m); !errors.Is(err, errUnstable) {
		t.Errorf("got %q, %v, want %v", data, err, errUnstable)
	}
}

func TestDirectoryReplacedAtItsPath(t *testing.T) {
	dir := tree(t, map[string]string{"v1/f.txt": "one", "v2/f.txt": "two"})
	link := filepath.Join(dir, "current")
	point := func(to string) {
		next := filepath.Join(dir, "next")
		if err := os.Symlink(to, next); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, link); err != nil {
			t.Fatal(err)
		}
	}
	point("v1")
	s := serve(t, Config{Dir: link})
	webtest.Until(t, "the first release is seen", func() bool { _, body := get(t, s, "/f.txt"); return body == "one" })
	point("v2")
	webtest.Until(t, "the second release is seen", func() bool { _, body := get(t, s, "/f.txt"); return body == "two" })
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if _, body := get(t, s, "/f.txt"); body != "two" {
		t.Errorf("with nothing at the path: %q, want what was there", body)
	}
}

func TestCacheMemoryIsBounded(t *testing.T) {
	dir := t.TempDir()
	for i := range 50 {
		write(t, dir, fmt.Sprintf("%d.bin", i), strings.Repeat("x", 10_000))
	}
	c, err := New(Config{Dir: dir, Cache: "100KB"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.(io.Closer).Close()
	f := c.(*files)
	for i := range 50 {
		if _, err := f.load(new(web.Conn), fmt.Sprintf("/%d.bin", i)); err != nil {
			t.Fatal(err)
		}
	}
	if f.store.Total() > 100<<10 || f.store.Len() < 5 {
		t.Errorf("got %d bytes in %d entries, want most of 100 KB", f.store.Total(), f.store.Len())
	}
}

// TestCacheHitDoesNotAllocate measures the component alone.
func TestCacheHitDoesNotAllocate(t *testing.T) {
	c, err := New(Config{Dir: tree(t, site)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.(io.Closer).Close()
	f := c.(*files)
	exchange := new(web.Conn)
	if _, err := f.load(exchange, "/page.html"); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(1000, func() { f.cached(exchange, "/page.html") }); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}
