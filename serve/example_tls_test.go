package serve_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"time"

	"weir/serve"
)

// Example_tls is a TLS echo server whose connections are coroutines on an event loop. The handshake
// computes for long, so it runs off the loop. After that, the loop serves the same tls.Conn.
func Example_tls() {
	config := &tls.Config{Certificates: []tls.Certificate{selfSigned()}}
	echo := func(c net.Conn) {
		conn := tls.Server(c, config)
		defer conn.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		var err error
		serve.OffLoop(conn, func() { err = conn.HandshakeContext(ctx) })
		if err == nil {
			io.Copy(conn, conn) // until the client closes, or the service stops
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error, 1) // the result of RunBlocking
	go func() {
		handler := serve.Handler{Handle: echo, State: serve.PerConnection}
		stopped <- serve.RunBlocking(ctx, serve.Coroutine, listener, handler, serve.Options{})
	}()

	client, err := tls.Dial("tcp", listener.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	answer := make([]byte, len("hello"))
	if _, err := io.WriteString(client, "hello"); err != nil {
		log.Fatal(err)
	}
	if _, err := io.ReadFull(client, answer); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s by %s\n", answer, tls.VersionName(client.ConnectionState().Version))
	stop()
	if err := <-stopped; err != nil {
		log.Fatal(err)
	}
	// Output:
	// hello by TLS 1.3
}

// selfSigned returns a certificate that no client trusts.
func selfSigned() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		log.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
