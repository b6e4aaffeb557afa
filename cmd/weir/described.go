package main

import (
	"errors"
	"strings"

	"weir/lab"
	"weir/lab/contract"
)

// describedFlags describe the load of services that were not written for the lab.
type describedFlags struct {
	Get         string `help:"Ask for this path, of any HTTP servers: with the experiment requests, which is the default then." placeholder:"PATH"`
	Mix         string `predictor:"file" help:"Send the described requests of this file, as of weir load http --mix, with the experiment requests." placeholder:"FILE"`
	WS          string `name:"ws" help:"Send messages to this path, of any WebSocket servers: with the experiment websocket, which is the default then." placeholder:"PATH"`
	GRPC        string `name:"grpc" help:"Call this method, of any gRPC servers: with the experiment calls, which is the default then." placeholder:"/SERVICE/METHOD"`
	Message     string `help:"With --ws: the text of every message, which any message answers (default: 100 bytes that differ, and are echoed). With --grpc: the message in hexadecimal, as protobuf encodes it, or @FILE with it as it is (default: an empty message)." placeholder:"TEXT"`
	HTTP2       bool   `name:"http2" help:"Requests by HTTP/2: with TLS by ALPN, without it with prior knowledge (h2c). Calls always have it."`
	NoKeepAlive bool   `help:"With --get or --mix: open a connection for each request, as servers without keep-alive need it."`
	TLS         bool   `name:"tls" help:"Load by TLS, of servers that --subject gives by a command: with {cert} and {key} in the command for the lab's certificate, or with a certificate of their own. A server at an https:// address needs no --tls."`
	Insecure    bool   `short:"k" help:"TLS: accept any certificate."`
	CA          string `name:"ca" aliases:"cacert" predictor:"file" help:"TLS: trust the certificates in this file (PEM) instead of the system's." placeholder:"FILE"`
	ServerName  string `help:"TLS: the name to ask for and to verify (default: the host of the address)." placeholder:"NAME"`
}

// check returns an error if the flags describe two loads, or a part of none.
func (f *describedFlags) check() error {
	loads := 0
	for _, given := range []bool{f.Get != "" || f.Mix != "", f.WS != "", f.GRPC != ""} {
		if given {
			loads++
		}
	}
	switch {
	case loads > 1:
		return usageError{errors.New("--get and --mix describe requests, --ws messages, and --grpc calls: give one of them")}
	case f.Message != "" && f.WS == "" && f.GRPC == "":
		return usageError{errors.New("--message is the message of a load that --ws or --grpc describes: give one of them")}
	case f.NoKeepAlive && (f.WS != "" || f.GRPC != "" || f.HTTP2):
		return usageError{errors.New("--no-keep-alive is for requests over HTTP/1.1: leave it out")}
	case f.HTTP2 && f.WS != "":
		return usageError{errors.New("--http2 is for requests, and WebSocket messages go over HTTP/1.1: leave --http2 out")}
	}
	return nil
}

// experiment returns the built-in experiment for the described load; empty: none is described.
func (f *describedFlags) experiment() string {
	switch {
	case f.Get != "" || f.Mix != "":
		return "requests"
	case f.WS != "":
		return "websocket"
	case f.GRPC != "":
		return "calls"
	}
	return ""
}

// settings returns the flags as settings of a load.
func (f *describedFlags) settings() []loadFlag {
	file, isFile := "", false
	if f.GRPC != "" {
		file, isFile = strings.CutPrefix(f.Message, "@")
	}
	return []loadFlag{
		{"path", f.Get, f.Get != ""}, {"mix", f.Mix, f.Mix != ""}, {"path", f.WS, f.WS != ""}, {"method", f.GRPC, f.GRPC != ""},
		{"message", f.Message, f.Message != "" && !isFile}, {"message_file", file, isFile}, {"http2", f.HTTP2, f.HTTP2 && f.GRPC == ""},
		{"no_keep_alive", f.NoKeepAlive, f.NoKeepAlive}, {"tls", f.TLS, f.TLS},
		{"insecure", f.Insecure, f.Insecure}, {"ca", f.CA, f.CA != ""}, {"server_name", f.ServerName, f.ServerName != ""},
	}
}

// checkedConnections is how many connections at once the checks of a described load open.
const checkedConnections = 64

// contract returns the checks of what the described load needs of a server, and its workload.
func (f *describedFlags) contract() (contract.Kind, string, error) {
	e, err := lab.ReadExperiment(f.experiment())
	if err == nil {
		err = setLoads(e, f.settings()...)
	}
	if err != nil {
		return contract.Kind{}, "", err
	}
	k, err := e.Contract(checkedConnections)
	return k, e.Workload, err
}
