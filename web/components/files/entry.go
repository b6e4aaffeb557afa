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

// sibling is a content coding, and the extension of files in that coding.
type sibling struct {
	coding, extension string
	field             web.Field
}

var siblings = []sibling{
	{"br", ".br", web.NewField("Content-Encoding", "br")},
	{"zstd", ".zst", web.NewField("Content-Encoding", "zstd")},
	{"gzip", ".gz", web.NewField("Content-Encoding", "gzip")},
}

// entry is the response for a path: a file and its precompressed siblings. It is immutable except
// for checked.
type entry struct {
	key      string
	kind     web.Field
	plain    variant
	absent   []string  // names of siblings that do not exist
	coded    []variant // siblings that exist
	codings  []string  // content codings of coded
	reliable bool      // stamps of all files read are reliable: see stamp.isReliable

	checkedAt atomic.Int64 // when the files were last seen unchanged, since the component's epoch
}

// variant is a file with its header fields.
type variant struct {
	name          string // below the root
	stamp         stamp
	data          []byte
	openFile      *os.File // open file, instead of data; nil: opened for each response
	coding        *sibling // nil: identity
	tag, modified web.Field
}

// body answers with an entry: with the best coding that the client accepts.
func (f *files) body(c *web.Conn, e *entry) (web.Body, error) {
	v := &e.plain
	if len(e.coded) > 0 {
		c.Vary("Accept-Encoding")
		if i, _ := coding.Choose(c.RequestHeaders("Accept-Encoding"), e.codings); i >= 0 {
			v = &e.coded[i]
		}
	}
	if v.data == nil {
		return f.largeBody(c, e, v)
	}
	v.writeHeader(c, e.kind)
	return web.Bytes(v.data), nil
}

func (v *variant) writeHeader(c *web.Conn, kind web.Field) {
	c.SetField(kind)
	c.SetField(v.tag)
	c.SetField(v.modified)
	if v.coding != nil {
		c.SetField(v.coding.field)
	}
}

// largeBody answers with a file that is not in memory.
func (f *files) largeBody(c *web.Conn, e *entry, v *variant) (web.Body, error) {
	one, file := *v, v.openFile
	if file == nil {
		c.LeaveLoop()
		if e.plain.openFile != nil {
			_ = e.plain.openFile.Close()
		}
		var err error
		if file, one.stamp, err = f.root.open(v.name); err != nil {
			return web.Body{}, err
		}
		if one.stamp != v.stamp || !one.stamp.isReliable(time.Now()) {
			one.setFields(f.stampTag(one.stamp))
		}
	}
	one.writeHeader(c, e.kind)
	return web.File(file, 0, one.stamp.size).Checked(func() error {
		if now, err := stampOf(file); err != nil || now.size != one.stamp.size || now.modified != one.stamp.modified {
			// The change time is not compared: renaming another file onto this name changes it.
			return errChanged
		}
		return nil
	}), nil
}

// setFields makes the header fields of a variant with this tag.
func (v *variant) setFields(etag string) {
	v.tag = web.NewField("Etag", etag)
	v.modified = web.NewField("Last-Modified", time.Unix(0, v.stamp.modified).UTC().Format(http.TimeFormat))
}

// stampTag returns the entity tag of a file by its stamp, hashed: clients must not learn inodes. A
// stamp that is not reliable gets a tag that no other response has.
func (f *files) stampTag(s stamp) string {
	words := []int64{s.size, s.modified, s.changed, int64(s.inode), int64(s.device)}
	if now := time.Now(); !s.isReliable(now) {
		words = append(words, now.UnixNano(), f.uniqueTags.Add(1))
	}
	var b []byte
	for _, w := range words {
		b = binary.BigEndian.AppendUint64(b, uint64(w))
	}
	return tag.Of(b)
}
