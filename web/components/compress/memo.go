package compress

import (
	"bytes"

	"weir/web"
	"weir/web/components/internal/memory"
	"weir/web/components/internal/tag"
)

// mostKept is the size of the largest body that is compressed while the response is set up, to be
// kept, in bytes.
const mostKept = 1 << 20

// memo keeps compressed bodies.
type memo struct {
	store *memory.Store[memoKey, *made]
	limit int64
}

// memoKey is what a body is found by. Two resources can have the same tag: so what was compressed
// is compared too.
type memoKey struct {
	tag   string
	codec *codec
}

// made is a body with what was made of it.
type made struct {
	from, body []byte
	tag        web.Field
	worth      bool // it is smaller
}

func newMemo(limit int64) *memo {
	return &memo{memory.New[memoKey, *made](limit), limit}
}

// takes says whether a body is one to keep.
func (m *memo) takes(c *web.Conn, data []byte) bool {
	return m != nil && len(data) <= mostKept && 2*int64(len(data)) <= m.limit && tag.Strong(c.Header("Etag"))
}

// get compresses a body, unless that was done before. The comparison ends at once where the bytes
// are the same ones.
func (m *memo) get(etag string, data []byte, c *codec) *made {
	key := memoKey{etag, c}
	if old, ok := m.store.Get(key); ok && bytes.Equal(old.from, data) {
		return old
	}
	var b bytes.Buffer
	w := c.writer(&b, true)
	_, err := w.Write(data)
	if end := w.Close(); err == nil {
		err = end
	}
	n := &made{from: data, body: bytes.Clone(b.Bytes()), worth: err == nil && b.Len() < len(data)}
	n.tag = web.NewField("Etag", tag.Of(n.body))
	m.store.Put(key, n, int64(len(data)+len(n.body)+512))
	return n
}
