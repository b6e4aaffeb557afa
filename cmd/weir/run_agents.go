package main

import (
	"time"

	"weir/lab"
)

// agentFlags are the flags of weir lab run on load from other machines.
type agentFlags struct {
	Agents       int           `help:"Split each load over this number of agents: weir lab agent runs on each load machine." placeholder:"N"`
	AgentsListen string        `name:"agents-listen" help:"Address of this machine at which agents reach it (default: 127.0.0.1, for agents on this machine)." placeholder:"IP:PORT"`
	AgentsWait   time.Duration `name:"agents-wait" help:"How long to wait for agents, at the start and after one is lost (default: 5m)." placeholder:"5m"`
	SubjectsAt   string        `name:"subjects-at" help:"Address of this machine on which subjects listen, and which agents reach (default: that of --agents-listen)." placeholder:"IP"`
	Beside       []string      `help:"Wait for an agent beside this server, which measures its CPU and memory. It is given by --subject NAME=http://HOST:PORT." placeholder:"NAME"`
}

func (f agentFlags) options() lab.AgentOptions {
	return lab.AgentOptions{Count: f.Agents, Listen: f.AgentsListen, Host: f.SubjectsAt, Wait: f.AgentsWait, Beside: f.Beside}
}
