// Command server reads messages of 1000 bytes, and wastes time on each in the way of its variant.
//
// Usage: server VARIANT ADDR, where VARIANT is plain, hash, fsync or allocate.
package main

import (
	"bufio"
	"crypto/sha256"
	"io"
	"net"
	"os"
	"time"
)

func main() {
	handle := variants[os.Args[1]]
	hashed = bytesOf(2 * time.Microsecond)
	l, err := net.Listen("tcp", os.Args[2])
	if err != nil {
		panic(err)
	}
	for {
		c, err := l.Accept()
		if err != nil {
			panic(err)
		}
		go serve(c, handle())
	}
}

func serve(c net.Conn, handle func(message []byte)) {
	defer c.Close()
	in, message := bufio.NewReader(c), make([]byte, 1000)
	for {
		if _, err := io.ReadFull(in, message); err != nil {
			return
		}
		handle(message)
	}
}

// variants return the handler of a connection.
var variants = map[string]func() func([]byte){
	"plain":    func() func([]byte) { return func([]byte) {} },
	"hash":     func() func([]byte) { return func([]byte) { addedHash() } },
	"fsync":    addedFsync,
	"allocate": func() func([]byte) { return addedAllocation },
}

var (
	hashed []byte // takes 2 us to hash
	sum    [32]byte
	kept   []byte
)

// bytesOf returns as many bytes as SHA-256 hashes in a time.
func bytesOf(d time.Duration) []byte {
	const rounds = 2000
	b := make([]byte, 1<<16)
	began := time.Now()
	for range rounds {
		sha256.Sum256(b[:1024])
	}
	each := time.Since(began) / rounds
	return b[:max(64, min(len(b), int(1024*d/max(1, each))))]
}

//go:noinline
func addedHash() { sum = sha256.Sum256(hashed) }

//go:noinline
func addedAllocation(message []byte) { kept = make([]byte, 2048) }

// addedFsync writes each message into a file of the connection, which it syncs.
func addedFsync() func([]byte) {
	f, err := os.CreateTemp("", "fsync")
	if err != nil {
		panic(err)
	}
	os.Remove(f.Name())
	return func(message []byte) {
		if _, err := f.WriteAt(message, 0); err != nil {
			panic(err)
		}
		if err := f.Sync(); err != nil {
			panic(err)
		}
	}
}
