// Package compress is the filter that compresses what clients accept compressed: gzip, deflate (in
// the zlib format, as RFC 9110 section 8.4.1.2 says), br and zstd.
//
// # What is compressed
//
// Bodies of the types in the configuration, above a minimal size or of unknown size, for clients of
// HTTP/1.1 or later, in the coding to which the client gives the greatest weight (Accept-Encoding
// with its weights, *, and identity). Of several with the greatest weight the first in the
// configuration is taken: by default zstd, which costs the least for its size, then br, gzip,
// deflate. What has a content coding already is left alone, as are parts (206, Content-Range) and
// what says no-transform. Each response that might have been compressed says so in Vary. A client
// that refuses the body as it is (identity;q=0) gets one of any type and size compressed.
//
// # How
//
// Streams are compressed as they come; when a source flushes, what was written so far arrives at
// the client at once, so server-sent events pass. The core makes a strong entity tag weak then, and
// drops the length.
//
// Bytes with a strong entity tag, such as small files, are compressed once and kept: the response
// then has a length, a strong entity tag of its own, and ranges. Where compressing makes them no
// smaller they are left as they are.
//
// # Limitations
//
// It must stand behind the filters that change text. Secrets in a page that also repeats what the
// request said can be guessed from compressed lengths (BREACH): leave such routes out. Brotli
// streams are compressed by an encoder that can flush, which is slower than the one for bytes.
package compress
