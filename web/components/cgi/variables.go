package cgi

import (
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"weir/web"
	"weir/web/components/cgi/fcgi"
	"weir/web/internal/client"
)

// location is a program's place in the URL and in the file system.
type location struct {
	name string // SCRIPT_NAME: the part of the path that names the program
	info string // PATH_INFO: the rest of the path, "" or with a leading slash
	file string // SCRIPT_FILENAME
	root string // DOCUMENT_ROOT
}

// variables returns the request's variables (RFC 3875, section 4.1). Size is that of the body, -1
// for none. Names in env, the configuration's variables, are left out.
func variables(c *web.Conn, at location, size int64, env map[string]string) []fcgi.Param {
	port, https := "80", ""
	if c.Secure() {
		port, https = "443", "on"
	}
	name := c.Host()
	if h, p, err := net.SplitHostPort(name); err == nil {
		name, port = h, p
	}
	addr, remotePort, _ := net.SplitHostPort(c.RemoteAddr())
	length := ""
	if size >= 0 {
		length = strconv.FormatInt(size, 10)
	}
	vars := []fcgi.Param{
		{Name: "GATEWAY_INTERFACE", Value: "CGI/1.1"},
		{Name: "SERVER_SOFTWARE", Value: "weir"},
		{Name: "SERVER_PROTOCOL", Value: c.Proto()},
		{Name: "SERVER_NAME", Value: serverName(c, name)},
		{Name: "SERVER_PORT", Value: port},
		{Name: "REQUEST_METHOD", Value: c.Method()},
		{Name: "REQUEST_URI", Value: c.RequestURI()},
		{Name: "SCRIPT_NAME", Value: at.name},
		{Name: "QUERY_STRING", Value: c.RawQuery()},
		{Name: "REMOTE_ADDR", Value: addr},
		{Name: "REMOTE_HOST", Value: addr},
	}
	for _, v := range []fcgi.Param{
		{Name: "PATH_INFO", Value: at.info},
		{Name: "PATH_TRANSLATED", Value: translated(at)},
		{Name: "DOCUMENT_ROOT", Value: at.root},
		{Name: "SCRIPT_FILENAME", Value: at.file},
		{Name: "REMOTE_PORT", Value: remotePort},
		{Name: "REMOTE_USER", Value: c.StringValue(web.User)},
		{Name: "AUTH_TYPE", Value: authType(c)},
		{Name: "CONTENT_LENGTH", Value: length},
		{Name: "CONTENT_TYPE", Value: c.RequestHeader("Content-Type")},
		{Name: "HTTPS", Value: https},
		{Name: "HTTP_HOST", Value: c.Host()},
	} {
		if v.Value != "" {
			vars = append(vars, v)
		}
	}
	vars = append(vars, fieldVariables(c.HTTPRequest().Header, client.ProxyAddr(c.Context()) != "")...)
	return slices.DeleteFunc(vars, func(v fcgi.Param) bool { _, ok := env[v.Name]; return ok })
}

// serverName returns the host of the request without its port, or the server's address if the
// request has none.
func serverName(c *web.Conn, host string) string {
	if host != "" {
		return strings.Trim(host, "[]")
	}
	if a, ok := c.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		if addr, _, err := net.SplitHostPort(a.String()); err == nil {
			return addr
		}
	}
	return "localhost"
}

// translated returns the file system path of PATH_INFO, or "" if it could lead out of the root.
func translated(at location) string {
	if at.info == "" || at.root == "" || strings.Contains(at.info, "/.") {
		return ""
	}
	return at.root + at.info
}

func authType(c *web.Conn) string {
	if c.StringValue(web.User) == "" {
		return ""
	}
	scheme, _, _ := strings.Cut(c.RequestHeader("Authorization"), " ")
	return scheme
}

// omittedFields are about the connection, have a variable of their own, or are mistaken for a
// setting (HTTP_PROXY).
var omittedFields = map[string]bool{
	"Connection": true, "Content-Length": true, "Content-Type": true, "Host": true, "Keep-Alive": true, "Proxy": true,
	"Proxy-Authorization": true, "Proxy-Connection": true, "Te": true, "Trailer": true, "Transfer-Encoding": true, "Upgrade": true,
}

// fieldVariables returns the request's fields as variables (section 4.1.18). Forwarding fields
// count only if a trusted proxy has passed the request on.
func fieldVariables(h http.Header, fronted bool) []fcgi.Param {
	var vars []fcgi.Param
	for name, values := range h {
		if omittedFields[name] || !isUnambiguous(name) || client.IsForwardingField(name) && !fronted {
			continue
		}
		between := ", "
		if name == "Cookie" {
			between = "; "
		}
		vars = append(vars, fcgi.Param{Name: "HTTP_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")), Value: strings.Join(values, between)})
	}
	return vars
}

// isUnambiguous reports whether no other field name becomes the same variable.
func isUnambiguous(name string) bool {
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' {
			return false
		}
	}
	return true
}
