package images

import (
	"bytes"
	"encoding/binary"
)

// isTurned reports whether the metadata of a picture make viewers turn it by a quarter: whether the
// Exif orientation is 5 to 8 (CIPA DC-008, section 4.6.5). It ignores malformed data.
func isTurned(kind string, metadata []byte) bool {
	mark := []byte("Exif\x00\x00") // of a segment of a JPEG
	if kind == "image/png" {
		mark = []byte("eXIf") // of a chunk
	}
	_, tiff, ok := bytes.Cut(metadata, mark)
	return ok && orientation(tiff) >= 5
}

// orientation returns the orientation in Exif data, 1 to 8, or 0 if they have none.
func orientation(tiff []byte) int {
	if len(tiff) < 8 {
		return 0
	}
	var order binary.ByteOrder = binary.LittleEndian
	if string(tiff[:2]) == "MM" {
		order = binary.BigEndian
	}
	start := int64(order.Uint32(tiff[4:]))
	if start < 8 || start+2 > int64(len(tiff)) {
		return 0
	}
	entries := tiff[start+2:]
	const size, tag, short = 12, 0x0112, 3
	for range order.Uint16(tiff[start:]) {
		if len(entries) < size {
			return 0
		}
		if order.Uint16(entries) == tag && order.Uint16(entries[2:]) == short {
			if v := order.Uint16(entries[8:]); v <= 8 {
				return int(v)
			}
			return 0
		}
		entries = entries[size:]
	}
	return 0
}
