package images

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/jpeg"
	"image/png"
	"testing"
)

// withChunk is a PNG with one more chunk behind its head.
func withChunk(picture []byte, name string, data []byte) []byte {
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	chunk = append(append(chunk, name...), data...)
	return insertAfterHead(picture, pngHead, binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:])))
}

// withSegment is a JPEG with one more segment behind its head.
func withSegment(picture []byte, marker byte, data []byte) []byte {
	segment := binary.BigEndian.AppendUint16([]byte{0xff, marker}, uint16(len(data)+2))
	return insertAfterHead(picture, jpegHead, append(segment, data...))
}

func testFilter() *filter {
	w := &downscaler{maxSide: 10}
	return &filter{limits: limits{maxPixels: 1 << 20}, quality: 50, change: w.scaled}
}

func TestHowPixelsAreMeantIsKept(t *testing.T) {
	exif, profile := append([]byte("Exif\x00\x00"), "turned"...), append([]byte("ICC_PROFILE\x00\x01\x01"), "colours"...)
	j := withSegment(withSegment(withSegment(asJPEG(t, picture(40, 30)), 0xe1, exif), 0xe2, profile), 0xed, []byte("private"))
	changed := testFilter().changePicture(j, "image/jpeg")
	for what, want := range map[string]bool{"turned": true, "colours": true, "private": false} {
		if bytes.Contains(changed, []byte(what)) != want {
			t.Errorf("JPEG: %q is there: %v, want %v", what, !want, want)
		}
	}
	if size, err := jpeg.DecodeConfig(bytes.NewReader(changed)); err != nil || size.Width != 10 {
		t.Errorf("JPEG: got size %+v (%v), want a width of 10", size, err)
	}
	gamma, text := []byte{0, 0, 0xb1, 0x8f}, []byte("Comment\x00private")
	colour := withChunk(withChunk(withChunk(asPNG(t, picture(40, 30)), "gAMA", gamma), "iCCP", []byte("p\x00\x00colours")), "tEXt", text)
	shades := withChunk(asPNG(t, image.NewGray(image.Rect(0, 0, 40, 30))), "iCCP", []byte("p\x00\x00colours"))
	for _, c := range []struct {
		picture []byte
		keeps   map[string]bool
	}{{colour, map[string]bool{"gAMA": true, "iCCP": true, "tEXt": false}}, {shades, map[string]bool{"iCCP": false}}} {
		changed := testFilter().changePicture(c.picture, "image/png")
		for what, want := range c.keeps {
			if bytes.Contains(changed, []byte(what)) != want {
				t.Errorf("PNG: %s is there: %v, want %v", what, !want, want)
			}
		}
		if size, err := png.DecodeConfig(bytes.NewReader(changed)); err != nil || size.Width != 10 {
			t.Errorf("PNG: got size %+v (%v), want a width of 10", size, err)
		}
	}
}

// FuzzChanged has any bytes for a picture: what comes out is none, or one of the same format.
func FuzzChanged(f *testing.F) {
	j, p := asJPEG(f, picture(20, 20)), asPNG(f, picture(20, 20))
	f.Add(withSegment(j, 0xe1, []byte("Exif\x00\x00x")))
	f.Add(withChunk(p, "gAMA", []byte{0, 0, 0xb1, 0x8f}))
	f.Add(j[:len(j)/2])
	f.Add(p[:len(p)-20])
	f.Add([]byte("\xff\xd8\xff\xff\xff\xda\x00\x02"))
	f.Fuzz(func(t *testing.T, picture []byte) {
		filter := testFilter()
		filter.maxPixels = 1 << 14
		for _, kind := range []string{"image/jpeg", "image/png"} {
			changed := filter.changePicture(picture, kind)
			if changed == nil {
				continue
			}
			if _, format, err := image.Decode(bytes.NewReader(changed)); err != nil || "image/"+format != kind {
				t.Errorf("changed %s: got format %q (%v), want a valid picture of the same format", kind, format, err)
			}
		}
	})
}
