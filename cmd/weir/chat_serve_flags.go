package main

import "weir/chat/host"

// chatFlags are the settings of a chat's configuration that have flags. A zero value leaves the
// setting to the configuration file, or to its default.
type chatFlags struct {
	Data   string   `type:"path" placeholder:"DIR" help:"The data directory; created if it does not exist."`
	Listen []string `placeholder:"HOST:PORT" help:"Address to listen on (127.0.0.1:6667); :6667 is every address of this machine. May be repeated."`
	Model  string   `predictor:"chatmodel" placeholder:"MODEL" help:"Concurrency model of the connections: loop, goroutine, pool or coroutine (default: loop on Linux, goroutine elsewhere)."`
	Loops  int      `placeholder:"N" help:"Number of event loops, for loop and coroutine (1)."`

	TLS     []string `name:"tls" placeholder:"HOST:PORT" help:"Address to listen on by TLS, which needs a certificate (:6697). May be repeated."`
	TLSCert string   `name:"tls-cert" type:"path" placeholder:"FILE" help:"The certificate, PEM; read again when it changes. The configuration file can use ACME instead."`
	TLSKey  string   `name:"tls-key" type:"path" placeholder:"FILE" help:"Its key, PEM."`
	TLSSelf bool     `name:"tls-self" help:"Use a self-signed certificate, created once in the data directory; clients need its fingerprint, which the log names."`
	Proxy   []string `placeholder:"ADDR" help:"Addresses or networks of trusted proxies, whose connections start with a PROXY protocol header. May be repeated."`

	Name         string `placeholder:"NAME" help:"The server's name (weir.chat)."`
	Network      string `placeholder:"NAME" help:"The network's name, as clients show it (Weir)."`
	MOTD         string `name:"motd" type:"path" placeholder:"FILE" help:"The message of the day, sent to every client that connects."`
	Registration string `placeholder:"POLICY" help:"Who may register an account: invite (holders of an invite code), open (any client) or off."`
	LoginOnly    bool   `help:"Reject clients without an account."`
	Flood        *int   `placeholder:"N" help:"Flood limit: commands per second of an account or address, with bursts of ten times as many; 0 is no limit (10). Guests on this machine have none."`
	Replay       int    `placeholder:"N" help:"Replay limit: lines per room that a client without chathistory receives of what it missed (500)."`
	Connections  int    `placeholder:"N" help:"Most connections at once (10000)."`

	Web     []string `placeholder:"HOST:PORT" help:"Address of the web page, with IRC over WebSocket at /irc (default: none)."`
	Hosts   []string `name:"web-host" placeholder:"NAME" help:"Further host names of the page, such as that of a reverse proxy; localhost, IP addresses and the name of the server are known."`
	Origins []string `name:"web-origin" placeholder:"HOST" help:"Further origins that may connect by WebSocket, such as *.example.org."`

	Metrics   string `placeholder:"HOST:PORT" help:"Address of /metrics for Prometheus, /healthz and /readyz (default: none)."`
	LogFormat string `placeholder:"FORMAT" enum:",text,json" default:"" help:"Format of the log: text or json (text). It contains no text of messages."`
	LogLevel  string `placeholder:"LEVEL" help:"Least severity that is logged: debug, info, warn or error (info)."`

	OldLog   string `name:"log" hidden:"" old:"--log-format" placeholder:"FORMAT"`
	OldModel string `name:"run" hidden:"" old:"--model" predictor:"chatmodel" placeholder:"MODEL"`
}

// flags returns the flags of the command line, each with the setting that it changes.
func (c *chatFlags) flags() []host.Flag {
	var given []host.Flag
	for _, f := range []struct {
		given     bool
		name, key string
		set       func(*host.Config)
	}{
		{c.Data != "", "--data", "data", func(o *host.Config) { o.Data = c.Data }},
		{len(c.Listen) > 0, "--listen", "listen", func(o *host.Config) { o.Listen = c.Listen }},
		{c.OldModel != "", "--run", "model", func(o *host.Config) { o.Model = c.OldModel }},
		{c.Model != "", "--model", "model", func(o *host.Config) { o.Model = c.Model }},
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
