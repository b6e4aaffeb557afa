package compress

import (
	"bytes"

	"weir/web"
	"weir/web/components/internal/memory"
	"weir/web/components/internal/tag"
)

// maxMemoBody is the size limit of bodies that are compressed in the setup phase and cached, in
// bytes.
const maxMemoBody = 1 << 20

// memo caches compressed bodies.
type memo struct {
	store *memory.Store[memoKey, *compressedBody]
	limit int64
}

// memoKey identifies a body. Two resources can have the same tag, so the original is compared as
// well.
type memoKey struct {
	tag   string
	codec *codec
}

// compressedBody is a body before and after compression.
type compressedBody struct {
	original, body []byte
	tag            web.Field
	smaller        bool // compression made it smaller
}

func newMemo(limit int64) *memo {
	return &memo{memory.New[memoKey, *compressedBody](limit), limit}
}

// accepts reports whether a body may be cached.
func (m *memo) accepts(c *web.Conn, data []byte) bool {
	return m != nil && len(data) <= maxMemoBody && 2*int64(len(data)) <= m.limit && tag.Strong(c.Header("Etag"))
}

// get returns the compressed body, from the cache if possible. Comparing originals is fast if they
// are the same slice.
func (m *memo) get(etag string, data []byte, c *codec) *compressedBody {
	key := memoKey{etag, c}
	if old, ok := m.store.Get(key); ok && bytes.Equal(old.original, data) {
		return old
	}
	var b bytes.Buffer
	w := c.writer(&b, true)
	_, err := w.Write(data)
	if end := w.Close(); err == nil {
		err = end
	}
	n := &compressedBody{original: data, body: bytes.Clone(b.Bytes()), smaller: err == nil && b.Len() < len(data)}
	n.tag = web.NewField("Etag", tag.Of(n.body))
	m.store.Put(key, n, int64(len(data)+len(n.body)+512))
	return n
}
