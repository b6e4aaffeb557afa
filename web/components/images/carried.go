package images

import (
	"bytes"
	"encoding/binary"
)

// The offsets in an encoded picture at which metadata is inserted: behind the marker SOI of a JPEG,
// and behind the chunk IHDR of a PNG.
const (
	jpegHead = 2
	pngHead  = 8 + 25
)

// jpegMetadata returns the segments of a JPEG that affect how its pixels are shown: the Exif data,
// which may rotate it, and the ICC profile. It reports false for a malformed file (ITU-T T.81,
// annex B).
func jpegMetadata(picture []byte) (keep []byte, ok bool) {
	rest, ok := bytes.CutPrefix(picture, []byte{0xff, 0xd8})
	for ok && len(rest) >= 4 && rest[0] == 0xff {
		marker, size := rest[1], 2+int(binary.BigEndian.Uint16(rest[2:]))
		switch {
		case marker == 0xff: // a fill byte
			rest = rest[1:]
			continue
		case marker == 0xda: // SOS: the pixels
			return keep, true
		case size < 4 || size > len(rest):
			return nil, false
		}
		segment := rest[:size]
		if marker == 0xe1 && bytes.HasPrefix(segment[4:], []byte("Exif\x00")) || marker == 0xe2 && bytes.HasPrefix(segment[4:], []byte("ICC_PROFILE\x00")) {
			keep = append(keep, segment...)
		}
		rest = rest[size:]
	}
	return nil, false
}

// isGrey reports whether a PNG colour type has a single colour channel.
func isGrey(colourType byte) bool { return colourType == 0 || colourType == 4 }

// pngMetadata returns the chunks of a PNG that affect how its pixels are shown. It reports false
// for an animated picture or a malformed file (PNG specification, third edition, section 5).
func pngMetadata(picture []byte) (keep []byte, ok bool) {
	if len(picture) < pngHead {
		return nil, false
	}
	colourType := picture[8+8+9]
	for rest := picture[8:]; len(rest) >= 12; {
		size := int64(binary.BigEndian.Uint32(rest)) + 12
		if size > int64(len(rest)) {
			return nil, false
		}
		switch name := string(rest[4:8]); name {
		case "IDAT":
			return keep, true
		case "acTL": // animation
			return nil, false
		case "iCCP":
			// A profile is for grey or for colour, and a picture with transparency is encoded in
			// colour.
			if !isGrey(colourType) {
				keep = append(keep, rest[:size]...)
			}
		case "gAMA", "cHRM", "sRGB", "pHYs", "eXIf":
			keep = append(keep, rest[:size]...)
		}
		rest = rest[size:]
	}
	return nil, false
}
