package files

import (
	"encoding/binary"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"weir/web"
	"weir/web/components/internal/coding"
	"weir/web/components/internal/tag"
)

// sibling is a coding, and how the names of files in it end.
type sibling struct {
	coding, extension string
	field             web.Field
}

var siblings = []sibling{
	{"br", ".br", web.NewField("Content-Encoding", "br")},
	{"zstd", ".zst", web.NewField("Content-Encoding", "zstd")},
	{"gzip", ".gz", web.NewField("Content-Encoding", "gzip")},
}

// entry is what is answered for a path: a file, and its siblings. It does not change, but for when
// it was looked at.
type entry struct {
	key     string
	kind    web.Field
	plain   variant
	absent  []string  // names of siblings that there were not
	coded   []variant // those that there were
	codings []string  // of coded
	settled bool      // its stamps tell whether it has changed: see stamp

	checked atomic.Int64 // since the component's epoch, when it last was as it is
}

// variant is a file with the fields that go with it.
type variant struct {
	name          string // below the root
	stamp         stamp
	data          []byte
	large         *os.File // open, in place of data; nil: to be opened
	coding        *sibling // nil: none
	tag, modified web.Field
}

// body answers with an entry.
func (f *files) body(c *web.Conn, e *entry) web.Body {
	v := &e.plain
	if len(e.coded) > 0 {
		c.Vary("Accept-Encoding")
		if i, _ := coding.Choose(c.RequestHeaders("Accept-Encoding"), e.codings); i >= 0 {
			v = &e.coded[i]
		}
	}
	if v.data == nil {
		return f.large(c, e, v)
	}
	v.describe(c, e.kind)
	return web.Bytes(v.data)
}

func (v *variant) describe(c *web.Conn, kind web.Field) {
	c.SetField(kind)
	c.SetField(v.tag)
	c.SetField(v.modified)
	if v.coding != nil {
		c.SetField(v.coding.field)
	}
}

// large answers with a file that is not in memory.
func (f *files) large(c *web.Conn, e *entry, v *variant) web.Body {
	one, file := *v, v.large
	if file == nil {
		if e.plain.large != nil {
			_ = e.plain.large.Close()
		}
		var err error
		if file, one.stamp, err = f.root.open(v.name); err != nil {
			return f.failed(c, err)
		}
		if one.stamp != v.stamp || !one.stamp.settled(time.Now()) {
			one.fields(f.stampTag(one.stamp))
		}
	}
	one.describe(c, e.kind)
	return web.File(file, 0, one.stamp.size).Checked(func() error {
		if now, err := stampOf(file); err != nil || now.size != one.stamp.size || now.modified != one.stamp.modified {
			// the time of change is another too when its name went to another file
			return errChanged
		}
		return nil
	})
}

// fields makes the fields of a variant with a tag.
func (v *variant) fields(etag string) {
	v.tag = web.NewField("Etag", etag)
	v.modified = web.NewField("Last-Modified", time.Unix(0, v.stamp.modified).UTC().Format(http.TimeFormat))
}

// stampTag is the entity tag of a file by its stamp, which it keeps from clients: inodes are
// nobody's business.
func (f *files) stampTag(s stamp) string {
	words := []int64{s.size, s.modified, s.changed, int64(s.inode), int64(s.device)}
	if now := time.Now(); !s.settled(now) {
		words = append(words, now.UnixNano(), f.odd.Add(1))
	}
	var b []byte
	for _, w := range words {
		b = binary.BigEndian.AppendUint64(b, uint64(w))
	}
	return tag.Of(b)
}
