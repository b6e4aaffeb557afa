// Package compress is a filter that compresses bodies for clients that accept it: gzip, deflate (in
// the zlib format; RFC 9110, section 8.4.1.2), br and zstd.
//
// # What is compressed
//
// The filter compresses bodies of the configured types, above a minimum size or of unknown size,
// for clients of HTTP/1.1 or later. It uses the coding with the client's greatest weight
// (Accept-Encoding with weights, *, and identity). Among equal weights, the first in the
// configuration is used: by default zstd, which needs the least CPU for its size, then br, gzip,
// deflate.
//
// It leaves bodies unchanged that have a content coding, partial content (206, Content-Range), and
// responses with no-transform. Each response that could have been compressed has Vary:
// Accept-Encoding. For a client that rejects uncompressed bodies (identity;q=0), it compresses any
// type and size.
//
// # How
//
// Streams are compressed as they are written. When a source flushes, everything written so far
// reaches the client, so server-sent events pass. The core makes a strong entity tag weak then, and
// removes the length.
//
// Bytes with a strong entity tag, such as small files, are compressed once and cached. The response
// then has a length, a strong entity tag of its own, and ranges. Bytes that compression does not
// make smaller stay unchanged.
//
// # Limitations
//
// It must stand behind filters that change text. If a page has secrets and also repeats parts of
// the request, an attacker can guess the secrets from compressed lengths (BREACH): do not compress
// such routes. Brotli streams use an encoder that can flush, which is slower than the one for
// bytes.
package compress
