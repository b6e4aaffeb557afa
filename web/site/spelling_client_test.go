package site

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// spelled is a request that is sent exactly as written.
type spelled struct {
	method, host, target, credentials string
}

// answered is the response. Its status is 0 if the connection was closed or the stream was reset
// instead.
type answered struct {
	status int
	body   string
}

const clientTimeout = time.Minute

// overHTTP1 sends requests one after the other on a connection, and reconnects when the server has
// closed it.
type overHTTP1 struct {
	addr string
	conn net.Conn
	in   *bufio.Reader
}

func (c *overHTTP1) close() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

func (c *overHTTP1) ask(r spelled) (a answered, err error) {
	if c.conn == nil {
		if c.conn, err = net.Dial("tcp", c.addr); err != nil {
			return a, err
		}
		c.in = bufio.NewReader(c.conn)
	}
	_ = c.conn.SetDeadline(time.Now().Add(clientTimeout))
	text := r.method + " " + r.target + " HTTP/1.1\r\nHost: " + r.host + "\r\n"
	if r.credentials != "" {
		text += "Authorization: " + r.credentials + "\r\n"
	}
	if _, err := io.WriteString(c.conn, text+"\r\n"); err != nil {
		c.close()
		return a, err
	}
	resp, err := http.ReadResponse(c.in, &http.Request{Method: r.method})
	if err != nil {
		c.close()
		return a, nil // also for a rejection
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.Close || err != nil {
		c.close()
	}
	return answered{resp.StatusCode, string(body)}, err
}

// overHTTP2 sends requests one after the other on an HTTP/2 connection, with pseudo-header fields
// that no library would send.
type overHTTP2 struct {
	addr   string
	conn   net.Conn
	framer *http2.Framer
	fields *hpack.Encoder
	block  bytes.Buffer
	stream uint32
}

func (c *overHTTP2) close() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

func (c *overHTTP2) dial() error {
	conn, err := tls.Dial("tcp", c.addr, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		return err
	}
	c.conn, c.framer, c.stream = conn, http2.NewFramer(conn, conn), 1
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.block.Reset()
	c.fields = hpack.NewEncoder(&c.block)
	_ = conn.SetDeadline(time.Now().Add(clientTimeout))
	_, err = io.WriteString(conn, http2.ClientPreface)
	return errors.Join(err, c.framer.WriteSettings())
}

func (c *overHTTP2) ask(r spelled) (a answered, err error) {
	if c.conn == nil {
		if err := c.dial(); err != nil {
			return a, err
		}
	}
	_ = c.conn.SetDeadline(time.Now().Add(clientTimeout))
	c.block.Reset()
	for _, f := range [][2]string{{":method", r.method}, {":scheme", "https"}, {":authority", r.host}, {":path", r.target}, {"authorization", r.credentials}} {
		if f[1] != "" {
			_ = c.fields.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
		}
	}
	stream := c.stream
	c.stream += 2
	if err = c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: c.block.Bytes(), EndStream: true, EndHeaders: true}); err == nil {
		a, err = c.answer(stream)
	}
	if err != nil {
		c.close()
		return answered{}, nil // the server closed the connection because of the request
	}
	return a, nil
}

// answer reads a stream until it ends.
func (c *overHTTP2) answer(stream uint32) (a answered, err error) {
	for {
		frame, err := c.framer.ReadFrame()
		if err != nil {
			return a, err
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				err = c.framer.WriteSettingsAck()
			}
		case *http2.PingFrame:
			if !f.IsAck() {
				err = c.framer.WritePing(true, f.Data)
			}
		case *http2.GoAwayFrame:
			return a, errors.New("the server goes away")
		case *http2.DataFrame:
			a.body += string(f.Data())
			if n := f.Length; n > 0 {
				err = c.framer.WriteWindowUpdate(0, n)
			}
		case *http2.MetaHeadersFrame:
			_, _ = fmt.Sscan(f.PseudoValue("status"), &a.status)
		case *http2.RSTStreamFrame:
			if f.StreamID == stream {
				return answered{}, nil
			}
		}
		if err != nil {
			return a, err
		}
		if h := frame.Header(); h.StreamID == stream && (h.Type == http2.FrameData || h.Type == http2.FrameHeaders) && h.Flags.Has(http2.FlagDataEndStream) {
			return a, nil
		}
	}
}
