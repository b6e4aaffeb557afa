package images

import (
	"bytes"
	"encoding/binary"
)

// After how many bytes of an encoded picture what is carried over is put: behind the marker SOI,
// and behind the chunk IHDR.
const (
	jpegHead = 2
	pngHead  = 8 + 25
)

// jpegCarried are the segments of a JPEG that say how its pixels are meant: the Exif data, which
// may turn it, and the ICC profile. It reports false when the file is not made as it should be
// (ITU-T T.81, annex B).
func jpegCarried(picture []byte) (keep []byte, ok bool) {
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

// grey says of the colour types of PNG whether they have one channel of colour.
func grey(colourType byte) bool { return colourType == 0 || colourType == 4 }

// pngCarried are the chunks of a PNG that say how its pixels are meant. It reports false when the
// picture is animated, or the file not made as it should be (PNG specification, third edition,
// section 5).
func pngCarried(picture []byte) (keep []byte, ok bool) {
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
			// A profile is for grey or for colour, and a picture with transparency is written with
			// colour.
			if !grey(colourType) {
				keep = append(keep, rest[:size]...)
			}
		case "gAMA", "cHRM", "sRGB", "pHYs", "eXIf":
			keep = append(keep, rest[:size]...)
		}
		rest = rest[size:]
	}
	return nil, false
}
