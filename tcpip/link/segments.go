package link

import "weir/wire"

// Segments calls emit with the frames that a device would send for f, whose checksums are complete
// then: f itself, or the segments of a superframe. m is the link's medium. A frame's bytes are
// valid until emit returns. f's checksum may be completed in place. It reports whether f is valid:
// its offsets lie in it, and a superframe is a whole packet of TCP.
func Segments(f *Frame, m Medium, emit func(frame []byte)) bool {
	if f.SegmentSize != 0 {
		return segmentSuperframe(f, m, false, func(segment *Frame) { emit(segment.Bytes) })
	}
	if f.ChecksumPartial {
		if !f.checksumWithin(len(f.Bytes), m) {
			return false
		}
		completeChecksum(f)
	}
	emit(f.Bytes)
	return true
}

// completeChecksum completes the checksum of a frame in place.
func completeChecksum(f *Frame) {
	at := f.ChecksumStart + f.ChecksumOffset
	sum := wire.Sum{}.Add(f.Bytes[f.ChecksumStart:]).Checksum()
	f.Bytes[at], f.Bytes[at+1] = byte(sum>>8), byte(sum)
	f.ChecksumPartial = false
}
