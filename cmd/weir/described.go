package main

import (
	"strings"

	"weir/lab"
	"weir/lab/contract"
)

// describedFlags describe the load of services that were not written for the lab.
type describedFlags struct {
	Get     string `help:"Ask for this path, of any HTTP servers: with the experiment requests, which is the default then." placeholder:"PATH"`
	Mix     string `predictor:"file" help:"Send the described requests of this file, as of weir load http --mix, with the experiment requests." placeholder:"FILE"`
	GRPC    string `name:"grpc" help:"Call this method, of any gRPC servers: with the experiment calls, which is the default then." placeholder:"/SERVICE/METHOD"`
	Message string `help:"With --grpc: the message in hexadecimal, as protobuf encodes it, or @FILE with it as it is (default: an empty message)." placeholder:"HEX|@FILE"`
}

// experiment returns the built-in experiment for the described load; empty: none is described.
func (f *describedFlags) experiment() string {
	switch {
	case f.Get != "" || f.Mix != "":
		return "requests"
	case f.GRPC != "":
		return "calls"
	}
	return ""
}

// settings returns the flags as settings of a load.
func (f *describedFlags) settings() []loadFlag {
	file, isFile := strings.CutPrefix(f.Message, "@")
	return []loadFlag{
		{"path", f.Get, f.Get != ""}, {"mix", f.Mix, f.Mix != ""},
		{"method", f.GRPC, f.GRPC != ""}, {"message", f.Message, f.Message != "" && !isFile}, {"message_file", file, isFile},
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
