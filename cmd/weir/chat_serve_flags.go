package main

import "weir/chat/host"

// chatFlags are what of a chat's configuration can be said by flags. What is not said is empty, so
// that the file's value holds, or the default.
type chatFlags struct {
	Data   string   `type:"path" placeholder:"DIR" help:"The data directory, which is made if it is not there."`
	Listen []string `placeholder:"HOST:PORT" help:"Where to listen; :6667 is every address of this machine. 127.0.0.1:6667 when not said; may be said several times."`
	Way    string   `name:"run" predictor:"chatmodel" placeholder:"MODEL" help:"Concurrency model of the connections: loop, goroutine, pool or coroutine (default: loop on Linux, goroutine elsewhere)."`
	Loops  int      `placeholder:"N" help:"Event loops, for loop and coroutine (1)."`

	TLS     []string `name:"tls" placeholder:"HOST:PORT" help:"Where to listen for clients by TLS, which needs a certificate (:6697); may be said several times."`
	TLSCert string   `name:"tls-cert" type:"path" placeholder:"FILE" help:"The certificate, PEM; read again when it changes. The configuration's file can have it obtained by ACME instead."`
	TLSKey  string   `name:"tls-key" type:"path" placeholder:"FILE" help:"Its key, PEM."`
	TLSSelf bool     `name:"tls-self" help:"Use a certificate of the server's own, which is made once in the data directory; clients have to be told its fingerprint."`
	Proxy   []string `placeholder:"ADDR" help:"Addresses or networks of proxies, whose connections begin by a header of the PROXY protocol; may be said several times."`

	Name         string `placeholder:"NAME" help:"The server's name (weir.chat)."`
	Network      string `placeholder:"NAME" help:"The network's name, as clients show it (Weir)."`
	MOTD         string `name:"motd" type:"path" placeholder:"FILE" help:"What those who come in are told first."`
	Registration string `placeholder:"POLICY" help:"Who may make an account for himself: invite (who has one), open (everybody) or off."`
	LoginOnly    bool   `help:"Let only accounts in."`
	Prompt       bool   `help:"Tell what is said in a large room at once, and not up to 5 ms later together with more: for latency, at the cost of CPU."`
	Flood        *int   `placeholder:"N" help:"Commands a second of an account or address, ten times as many at once; 0 is no limit (10). Guests on this machine have none."`
	Replay       int    `placeholder:"N" help:"Lines that a client without chathistory is shown at most, of what it missed in a room (500)."`
	Connections  int    `placeholder:"N" help:"Connections at once (10000)."`

	Web     []string `placeholder:"HOST:PORT" help:"Where to serve the chat's web page too, and IRC over WebSocket at /irc. Without it there is none."`
	Hosts   []string `name:"web-host" placeholder:"NAME" help:"Names that browsers reach the page by, such as that of a proxy in front; localhost, addresses and the server's own name need none."`
	Origins []string `name:"web-origin" placeholder:"HOST" help:"Hosts whose pages may connect by WebSocket, beside the page's own; such as *.example.org."`

	Metrics   string `placeholder:"HOST:PORT" help:"Where to tell how the server is: /metrics for Prometheus, /healthz and /readyz. Without it, nowhere."`
	LogFormat string `placeholder:"FORMAT" enum:",text,json" default:"" help:"Format of the log: text or json (text). It holds no message's text."`
	LogLevel  string `placeholder:"LEVEL" help:"Least severity that is logged: debug, info, warn or error (info)."`

	OldLog string `name:"log" hidden:"" old:"--log-format" placeholder:"FORMAT"`
}

// flags are those that were given.
func (c *chatFlags) flags() []host.Flag {
	var given []host.Flag
	for _, f := range []struct {
		given     bool
		name, key string
		set       func(*host.Config)
	}{
		{c.Data != "", "--data", "data", func(o *host.Config) { o.Data = c.Data }},
		{len(c.Listen) > 0, "--listen", "listen", func(o *host.Config) { o.Listen = c.Listen }},
		{c.Way != "", "--run", "run", func(o *host.Config) { o.Run = c.Way }},
		{c.Loops != 0, "--loops", "loops", func(o *host.Config) { o.Loops = c.Loops }},
		{len(c.TLS) > 0, "--tls", "tls.listen", func(o *host.Config) { o.TLS.Listen = c.TLS }},
		{c.TLSCert != "", "--tls-cert", "tls.cert", func(o *host.Config) { o.TLS.Cert = c.TLSCert }},
		{c.TLSKey != "", "--tls-key", "tls.key", func(o *host.Config) { o.TLS.Key = c.TLSKey }},
		{c.TLSSelf, "--tls-self", "tls.self", func(o *host.Config) { o.TLS.Self = true }},
		{len(c.Proxy) > 0, "--proxy", "proxy.trusted", func(o *host.Config) { o.Proxy.Trusted = c.Proxy }},
		{c.Name != "", "--name", "server.name", func(o *host.Config) { o.Server.Name = c.Name }},
		{c.Network != "", "--network", "server.network", func(o *host.Config) { o.Server.Network = c.Network }},
		{c.MOTD != "", "--motd", "server.motd_file", func(o *host.Config) { o.Server.MOTD, o.Server.MOTDFile = "", c.MOTD }},
		{c.Registration != "", "--registration", "accounts.registration", func(o *host.Config) { o.Accounts.Registration = c.Registration }},
		{c.Prompt, "--prompt", "server.prompt", func(o *host.Config) { o.Server.Prompt = true }},
		{c.LoginOnly, "--login-only", "accounts.login_only", func(o *host.Config) { o.Accounts.LoginOnly = true }},
		{c.Flood != nil, "--flood", "limits.flood", func(o *host.Config) { o.Limits.Flood = c.Flood }},
		{c.Replay != 0, "--replay", "limits.replay", func(o *host.Config) { o.Limits.Replay = c.Replay }},
		{c.Connections != 0, "--connections", "limits.connections", func(o *host.Config) { o.Limits.Connections = c.Connections }},
		{len(c.Web) > 0, "--web", "web.listen", func(o *host.Config) { o.Web.Listen = c.Web }},
		{len(c.Hosts) > 0, "--web-host", "web.hosts", func(o *host.Config) { o.Web.Hosts = c.Hosts }},
		{len(c.Origins) > 0, "--web-origin", "web.origins", func(o *host.Config) { o.Web.Origins = c.Origins }},
		{c.Metrics != "", "--metrics", "metrics.listen", func(o *host.Config) { o.Metrics.Listen = c.Metrics }},
		{c.OldLog != "", "--log", "log.format", func(o *host.Config) { o.Log.Format = c.OldLog }},
		{c.LogFormat != "", "--log-format", "log.format", func(o *host.Config) { o.Log.Format = c.LogFormat }},
		{c.LogLevel != "", "--log-level", "log.level", func(o *host.Config) { o.Log.Level = c.LogLevel }},
	} {
		if f.given {
			given = append(given, host.Flag{Name: f.name, Key: f.key, Set: f.set})
		}
	}
	return given
}
