package grpc

import (
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// server is a gRPC server of the greeting by net/http, with or without a fault.
type server struct {
	fault string
	calls atomic.Int64 // so far
	open  atomic.Int64 // calls that are being answered
	conns atomic.Int64 // open connections
	spoke sync.Map     // the connections that sent something
}

// serve runs a server until SIGTERM, and returns its exit status. With the files of a certificate
// and its key it speaks TLS.
func serve(addr, fault string, keyPair []string) int {
	s := &server{fault: fault}
	web := &http.Server{Addr: addr, Handler: s, Protocols: new(http.Protocols), ReadHeaderTimeout: time.Minute, ConnState: s.connState}
	web.Protocols.SetHTTP1(fault == "HTTP/1.1")
	web.Protocols.SetUnencryptedHTTP2(fault != "HTTP/1.1")
	web.Protocols.SetHTTP2(fault != "HTTP/1.1")
	listen := web.ListenAndServe
	if len(keyPair) == 2 {
		listen = func() error { return web.ListenAndServeTLS(keyPair[0], keyPair[1]) }
	}
	term := make(chan os.Signal, 1) // from the runtime
	signal.Notify(term, syscall.SIGTERM)
	go func() {
		if err := listen(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}()
	<-term
	if fault == "sleeps on at SIGTERM" {
		time.Sleep(time.Minute)
	}
	if fault == "exits with 3" {
		return 3
	}
	return 0
}

// connState counts connections, and is the fault of those that are too many or leave.
func (s *server) connState(c net.Conn, state http.ConnState) {
	switch {
	case state == http.StateNew && s.conns.Add(1) > 20 && s.fault == "takes 20":
		c.Close()
	case state == http.StateActive:
		s.spoke.Store(c, true)
	case state == http.StateClosed:
		s.conns.Add(-1)
		if _, spoke := s.spoke.LoadAndDelete(c); s.fault == "dies of clients that leave" && !spoke {
			os.Exit(1)
		}
	}
}

// faultyHeads are the heads of servers that are at fault, by fault.
var faultyHeads = map[string]func(http.ResponseWriter){
	"404":          func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) },
	"another type": func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/plain") },
	"status 14": func(w http.ResponseWriter) {
		w.Header().Set("Grpc-Status", "14")
		w.Header().Set("Grpc-Message", "busy")
	},
	"status 99":        func(w http.ResponseWriter) { w.Header().Set("Grpc-Status", "99") },
	"no message":       func(w http.ResponseWriter) { w.Header().Set("Grpc-Status", "0") },
	"nothing whatever": func(http.ResponseWriter) {},
}

// faultyBodies are the bodies of servers that are at fault, by fault.
var faultyBodies = map[string]string{
	"compressed": "\x01\x00\x00\x00\x01a", "a longer prefix": "\x00\x00\x00\x00\x02a", "two messages": "\x00\x00\x00\x00\x01a\x00\x00\x00\x00\x01b", "another message": "\x00\x00\x00\x00\x01a",
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, open := s.calls.Add(1), s.open.Add(1)
	defer s.open.Add(-1)
	body, err := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/grpc")
	if head := faultyHeads[s.fault]; head != nil {
		head(w)
		return
	}
	w.Header().Set("Trailer", "Grpc-Status")
	text, known := faultyBodies[s.fault]
	status := "0"
	switch asked, _ := hex.DecodeString(greeting().Message); {
	case err != nil || r.Header.Get("Te") != "trailers" || string(body) != "\x00\x00\x00\x00\x07"+string(asked):
		status = "3"
	case s.fault == "answers 20" && n > 20, s.fault == "one at a time" && open > 1:
		status = "8"
	case !known:
		reply, _ := hex.DecodeString(greeting().Reply)
		text = "\x00\x00\x00\x00" + string(rune(len(reply))) + string(reply)
	}
	if s.fault == "one at a time" {
		time.Sleep(10 * time.Millisecond) // others arrive
	}
	io.WriteString(w, text) //nolint:errcheck // the client sees it
	if s.fault != "no trailers" {
		w.Header().Set("Grpc-Status", status)
	}
}
