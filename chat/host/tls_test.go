package host

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"weir/internal/certificate"
	"weir/internal/certificate/certtest"
)

// secure is a connection by TLS to an address of the host's, and the fingerprint of the certificate
// that it shows.
func (r *running) secure(t *testing.T, what string) (*tls.Conn, string) {
	t.Helper()
	c, err := tls.Dial("tcp", r.addrs[what][0], &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(waitLimit))
	return c, certificate.Fingerprint(c.ConnectionState().PeerCertificates[0].Raw)
}

// hears reads until a text comes.
func hears(t *testing.T, c net.Conn, text string) {
	t.Helper()
	var all strings.Builder
	for b := make([]byte, 4096); !strings.Contains(all.String(), text); {
		n, err := c.Read(b)
		if all.Write(b[:n]); err != nil {
			t.Fatalf("want a line with %q: %v; got %q", text, err, all.String())
		}
	}
}

func TestASelfSignedCertificateIsCreatedOnce(t *testing.T) {
	data := t.TempDir()
	var prints []string
	for range 2 {
		r := start(t, Config{Data: data, TLS: TLS{Listen: []string{"127.0.0.1:0"}, Self: true}})
		c, print := r.secure(t, "ircs")
		if print != r.Fingerprint() {
			t.Errorf("got the certificate %s and Fingerprint %s, want them equal", print, r.Fingerprint())
		}
		prints = append(prints, print)
		fmt.Fprintf(c, "NICK ann\r\nUSER ann 0 * :ann\r\n")
		hears(t, c, " 221 ann")
		bob := r.user("bob") // in clear text
		bob.send("PRIVMSG ann :hello")
		hears(t, c, "PRIVMSG ann :hello")
		r.stop()
	}
	if prints[0] != prints[1] {
		t.Error("after a restart: got another self-signed certificate, want the same")
	}
}

func TestACertificatesFilesAreReadAtAReload(t *testing.T) {
	a, dir, month := certtest.New(t), t.TempDir(), Duration(30*24*time.Hour)
	cert, key := a.Files(t, dir, "old.test")
	r := start(t, Config{TLS: TLS{Listen: []string{"127.0.0.1:0"}, Cert: cert, Key: key, STS: &month, STSPort: 6697}})
	c, old := r.secure(t, "ircs")
	fmt.Fprintf(c, "CAP LS 302\r\n")
	hears(t, c, " sts=duration=2592000 ")
	a.Files(t, dir, "new.test")
	config := *r.Config()
	config.TLS.STS = new(Duration)
	if kept, err := r.Reload(config); err != nil || len(kept) > 0 {
		t.Fatalf("Reload: got the keys %q kept and error %v, want none", kept, err)
	}
	if _, now := r.secure(t, "ircs"); now == old {
		t.Error("after Reload: got the old certificate, want the new one")
	}
	fmt.Fprintf(c, "CAP LS 302\r\n")
	hears(t, c, " sts=duration=0 ")
	r.client("CAP LS 302").until(" LS ")
	if err := os.WriteFile(cert, []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Reload(config); err == nil || !strings.Contains(err.Error(), "tls.cert: cannot use the certificate") {
		t.Errorf("Reload of an invalid certificate: got %v, want an error for tls.cert", err)
	}
}

func TestATrustedProxyStatesTheClientsAddress(t *testing.T) {
	r := start(t, Config{Proxy: Proxy{Trusted: []string{"127.0.0.0/8"}}})
	c := r.client("PROXY TCP4 192.0.2.1 198.51.100.1 4000 6667", "NICK ann", "USER ann 0 * :ann", "WHOIS ann")
	c.until(":is connecting from 192.0.2.1")
	r.client("NICK bob").until("must start with a PROXY header")
}

func TestThePageAndIRCShareTheCertificate(t *testing.T) {
	r := start(t, Config{TLS: TLS{Listen: []string{"127.0.0.1:0"}, Self: true, Web: true}, Web: Web{Listen: []string{"127.0.0.1:0"}}})
	_, irc := r.secure(t, "ircs")
	page, web := r.secure(t, "web")
	if irc != web {
		t.Errorf("got the page's certificate %s and %s for IRC, want the same", web, irc)
	}
	fmt.Fprintf(page, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
	hears(t, page, "HTTP/1.1 200 OK")
}

func TestInvalidTLSConfigurationsAreRejected(t *testing.T) {
	dir := t.TempDir()
	cert, key := certtest.New(t).Files(t, dir, "chat.test")
	missing := filepath.Join(dir, "none.pem")
	for text, want := range map[string]string{
		"[tls]\nlisten = [\":6697\"]":                                                        ":3:1: tls.listen: there is no certificate",
		"[tls]\nweb = true":                                                                  ":3:1: tls.web: there is no certificate",
		"[tls]\ncert = \"" + cert + "\"":                                                     ":3:1: tls.cert: a certificate needs its key",
		"[tls]\nself = true\nacme = [\"chat.test\"]":                                         "tls: several certificates are configured",
		"[tls]\nacme = [\"chat.test\"]":                                                      "tls.agreed: the authority requires",
		"[tls]\nself = true\nrun = \"loop\"":                                                 ":4:1: tls.run: \"loop\" is unknown: write one of goroutine, pool",
		"[tls]\nself = true\nmodel = \"loop\"":                                               ":4:1: tls.model: \"loop\" is unknown: write one of goroutine, pool",
		"[tls]\nself = true\nmodel = \"pool\"\nrun = \"pool\"":                               ":5:1: tls.run: it is the old spelling of model",
		"[tls]\nself = true\nsts = \"30d\"":                                                  ":4:1: tls.sts: clients with STS reject",
		"[tls]\nsts = \"30d\"":                                                               ":3:1: tls.sts: there is no TLS",
		"[tls]\nself = true\nlisten = [\"x\"]":                                               ":4:1: tls.listen: \"x\" is not an address",
		"[tls]\ncert = \"" + missing + "\"\nkey = \"" + key + "\"":                           ":3:1: tls.cert: cannot use the certificate " + missing,
		"[tls]\ncert = \"" + cert + "\"\nkey = \"" + key + "\"\nsts = \"2y\"":                "tls.sts: \"2y\" is not a duration",
		"[tls]\ncert = \"" + cert + "\"\nkey = \"" + key + "\"\nsts = \"30d\"\nsts_port = 0": "",
		"[proxy]\ntrusted = [\"front\"]":                                                     ":3:1: proxy.trusted: \"front\" is not an address or network",
	} {
		path := file(t, "data = \"d\"\n"+text)
		c, err := Source{File: path}.Read()
		if want == "" && (err != nil || c.TLS.sts().Port != 6697) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q:\n  %v\nwant %s", text, err, want)
		}
	}
}

func TestATrustedWebProxyStatesTheClientsAddress(t *testing.T) {
	r := start(t, Config{Web: Web{Listen: []string{"127.0.0.1:0"}, Proxies: []string{"127.0.0.1"}}})
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, "ws://"+r.addrs["web"][0]+"/irc", &websocket.DialOptions{
		HTTPHeader: http.Header{"X-Forwarded-For": {"192.0.2.1"}, "X-Forwarded-Proto": {"https"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	for _, line := range []string{"NICK ann", "USER ann 0 * :ann", "WHOIS ann"} {
		if err := ws.Write(ctx, websocket.MessageText, []byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{" 671 ann ann ", ":is connecting from 192.0.2.1"} {
		for text := ""; !strings.Contains(text, want); {
			_, line, err := ws.Read(ctx)
			if err != nil {
				t.Fatalf("waiting for %q: %v", want, err)
			}
			text = string(line)
		}
	}
}
