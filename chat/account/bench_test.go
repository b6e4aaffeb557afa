package account

import (
	"testing"
	"time"
)

// BenchmarkCalls measures the calls that a server makes at a login and for each message.
func BenchmarkCalls(b *testing.B) {
	s, err := Open(b.TempDir(), Options{MarkerInterval: time.Hour})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Add("ann", "correct horse", Member, false); err != nil {
		b.Fatal(err)
	}
	b.Run("Plain", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Plain("ann", "correct horse"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("PlainOfNobody", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Plain("bob", "correct horse"); err != ErrLoginFailed {
				b.Fatal(err)
			}
		}
	})
	b.Run("Scram", func(b *testing.B) {
		for b.Loop() {
			c := s.Scram()
			if _, _, _, err := c.Step("n,,n=ann,r=abc"); err != nil {
				b.Fatal(err)
			}
			_, _, _, _ = c.Step("c=biws,r=abc,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
		}
	})
	b.Run("Lookup", func(b *testing.B) {
		for b.Loop() {
			s.Lookup("ann")
		}
	})
	b.Run("Generation", func(b *testing.B) {
		for b.Loop() {
			s.Generation()
		}
	})
	b.Run("SetReadMarker", func(b *testing.B) {
		b.ReportAllocs()
		for offset := int64(1); b.Loop(); offset++ {
			s.SetReadMarker("ann", "phone", "k3zq7vha", offset)
		}
	})
}
