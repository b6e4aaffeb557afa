package compress

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/web"
)

// The bytes are random, written in pieces of random sizes with flushes between some of them.
func TestAnyBytesAreRestoredByDecoding(t *testing.T) {
	var codecs []*codec
	for effort := range 3 {
		for _, name := range []string{"gzip", "deflate", "br", "zstd"} {
			codecs = append(codecs, newCodec(name, effort))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(codecs).Draw(t, "codec")
		whole := rapid.Bool().Draw(t, "whole")
		var in, out bytes.Buffer
		w := c.writer(&out, whole)
		for range rapid.IntRange(0, 5).Draw(t, "writes") {
			p := bytes.Repeat(rapid.SliceOfN(rapid.Byte(), 0, 50).Draw(t, "bytes"), rapid.IntRange(1, 3000).Draw(t, "times"))
			in.Write(p)
			if _, err := w.Write(p); err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "flush") {
				if err := w.Flush(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got, err := decode(c.name, out.Bytes()); err != nil || got != in.String() {
			t.Fatalf("%s: %d bytes became %d (%v) after decoding, want the same bytes", c.name, in.Len(), len(got), err)
		}
	})
}

func TestOneCompressorIsEnough(t *testing.T) {
	a, _ := New(Config{})
	b, _ := New(Config{})
	if _, err := web.New(web.Chain(page(text), a, b), web.Options{}); err == nil || !strings.Contains(err.Error(), "content coding") {
		t.Errorf("two compressors: got %v, want an error about the content coding", err)
	}
}

func TestConfigErrors(t *testing.T) {
	for want, cfg := range map[string]Config{
		`compress: codings has "lzma"`:                          {Codings: []string{"gzip", "lzma"}},
		`compress: codings has "gzip"`:                          {Codings: []string{"gzip", "gzip"}},
		`compress: types has "html", which is not a media type`: {Types: []string{"html"}},
		`compress: effort is "much"`:                            {Effort: "much"},
		`compress: min_size is "few", which is not a size`:      {MinSize: "few"},
		`compress: cache is "-1", which is not a size`:          {Cache: "-1"},
	} {
		if _, err := New(cfg); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", cfg, err, want)
		}
	}
}

func TestCompressibleTypesAreMatched(t *testing.T) {
	for kind, want := range map[string]bool{
		"text/html": true, "TEXT/HTML; charset=utf-8": true, "text/": true, "text": false, "application/json": true, "application/ld+json": true, "application/ld+JSON ;x": true,
		"image/svg+xml": true, "image/png": false, "+json": false, "": false, "video/mp4": false, "font/woff2": false, "application/wasm": true,
	} {
		if matchesAny(compressible, kind) != want {
			t.Errorf("%q: %v, want %v", kind, !want, want)
		}
	}
	if !matchesAny([]string{"*/*"}, "image/png") {
		t.Error("*/* with image/png: got false, want true")
	}
}
