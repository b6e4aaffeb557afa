package link

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// CaptureFile writes a pcapng file of packets that the caller has recorded, with times of its own,
// as a simulation has them. [Capture] records a link. It is for one goroutine at a time.
type CaptureFile struct {
	w       io.Writer
	snapLen int
	block   []byte // of the last packet; its memory is used again
}

// CapturedPacket is a packet of a capture.
type CapturedPacket struct {
	At      time.Time
	Sent    bool   // by the host of the interface; otherwise the host has received it
	Comment string // shown by Wireshark; at most 65,535 bytes; empty: none
	Bytes   []byte
}

// NewCaptureFile writes the header of a file, with one interface. BufferSize does not matter: each
// packet is written at once. The error is an invalid config, or that of w.
func NewCaptureFile(w io.Writer, m Medium, c CaptureConfig) (*CaptureFile, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := writeHeader(w, m, c); err != nil {
		return nil, err
	}
	return &CaptureFile{w: w, snapLen: c.SnapLen}, nil
}

// WritePacket writes a packet. The error is a comment that is too long, or that of the writer.
func (f *CaptureFile) WritePacket(p CapturedPacket) error {
	if len(p.Comment) > maxComment {
		return errors.New("link: the comment of a packet in a capture has at most 65,535 bytes: shorten it")
	}
	flags := byte(inbound)
	if p.Sent {
		flags = outbound
	}
	f.block = appendPacket(f.block[:0], 0, p.At, flags, p.Comment, f.snapLen, p.Bytes)
	if _, err := f.w.Write(f.block); err != nil {
		return fmt.Errorf("link: writing a packet of a capture: %w", err)
	}
	return nil
}
