package link

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

// A capture file holds what it was given: bytes, times to the nanosecond, directions, comments. The
// reader is gopacket.
func TestACaptureFileHasThePacketsOfItsCaller(t *testing.T) {
	var file bytes.Buffer
	f, err := NewCaptureFile(&file, IP, CaptureConfig{Name: "client", Comment: "seed 17", SnapLen: 100})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2000, 1, 1, 0, 0, 0, 1, time.UTC)
	packets := []CapturedPacket{
		{At: start, Sent: true, Bytes: frame(1, 60)},
		{At: start.Add(time.Nanosecond), Bytes: frame(2, 61), Comment: "lost on the link to server"},
		{At: start.Add(time.Hour), Sent: true, Bytes: frame(3, 1500)},
	}
	for _, p := range packets {
		if err := f.WritePacket(p); err != nil {
			t.Fatal(err)
		}
	}
	i, section, got := readBack(t, file.Bytes())
	if i.Name != "client" || i.LinkType != linkRaw || !strings.Contains(section.Comment, "seed 17") || len(got) != len(packets) {
		t.Fatalf("got the interface %+v, the section %+v and %d packets; want client, with bare IP, seed 17 and %d", i, section, len(got), len(packets))
	}
	for n, p := range packets {
		kept := p.Bytes[:min(len(p.Bytes), 100)]
		if g := got[n]; !bytes.Equal(g.bytes, kept) || g.length != len(p.Bytes) || !g.at.Equal(p.At) || g.outbound != p.Sent {
			t.Errorf("packet %d: got %d of %d bytes at %v, outbound %v; want %d of %d at %v, %v", n, len(g.bytes), g.length, g.at, g.outbound, len(kept), len(p.Bytes), p.At, p.Sent)
		}
	}
	if !bytes.Contains(file.Bytes(), []byte("lost on the link to server")) {
		t.Error("got no comment of a packet in the file, want it")
	}
}

// brokenWriter fails from a write on.
type brokenWriter struct{ after int }

var errBroken = errors.New("no space")

func (w *brokenWriter) Write(b []byte) (int, error) {
	if w.after--; w.after < 0 {
		return 0, errBroken
	}
	return len(b), nil
}

func TestACaptureFileReportsErrors(t *testing.T) {
	if _, err := NewCaptureFile(&bytes.Buffer{}, IP, CaptureConfig{SnapLen: -1}); err == nil {
		t.Error("a SnapLen of -1: got no error, want one")
	}
	if _, err := NewCaptureFile(&brokenWriter{}, IP, CaptureConfig{}); !errors.Is(err, errBroken) {
		t.Errorf("a writer that fails at the header: got error %v, want its error", err)
	}
	f, err := NewCaptureFile(&brokenWriter{after: 1}, IP, CaptureConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.WritePacket(CapturedPacket{Comment: strings.Repeat("x", 1<<16)}); err == nil {
		t.Error("a comment of 65,536 bytes: got no error, want one")
	}
	if err := f.WritePacket(CapturedPacket{}); !errors.Is(err, errBroken) {
		t.Errorf("a writer that fails at a packet: got error %v, want its error", err)
	}
}
