package http

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"weir/lab/subject"
)

// faultyWeb is an HTTP server that fulfils the contract, except for one fault.
type faultyWeb struct {
	fault, www string
	upstream   string // HOST:PORT; empty: serves the files itself
	sleep      time.Duration
	every      int64
	gzip       bool

	requests, visitors atomic.Int64
	global             sync.Mutex // held if the fault is to serve one request at a time
	first              sync.Once
	page               []byte // the first content, if the fault is not to read the file again
	handlers           sync.WaitGroup
	stop               chan struct{} // closed by SIGTERM: sleeps and waits for requests end
}

func serveWeb(args []string) int {
	f := &faultyWeb{stop: make(chan struct{})}
	flags := flag.NewFlagSet("faulty", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	listen := flags.String("listen", "", "")
	workload := flags.String("workload", "", "")
	flags.StringVar(&f.fault, "fault", "", "")
	flags.StringVar(&f.www, "www", "", "")
	flags.StringVar(&f.upstream, "upstream", "", "")
	cert, key := flags.String("cert", "", ""), flags.String("key", "", "")
	sleep := flags.Int("sleep-ms", 0, "")
	flags.Int64Var(&f.every, "sleep-every", 0, "")
	flags.BoolVar(&f.gzip, "gzip", false, "")
	err := flags.Parse(args)
	_, addrErr := net.ResolveTCPAddr("tcp", *listen)
	if err != nil || addrErr != nil || *sleep < 0 || !slices.Contains(subject.Workloads, *workload) {
		fmt.Fprintln(os.Stderr, "faulty: bad usage")
		return 2
	}
	f.sleep = time.Duration(*sleep) * time.Millisecond
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		fmt.Fprintln(os.Stderr, "faulty:", err)
		return 1
	}
	if *cert != "" && f.fault != "does not encrypt" {
		pair, err := tls.LoadX509KeyPair(*cert, *key)
		if err != nil {
			fmt.Fprintln(os.Stderr, "faulty:", err)
			return 1
		}
		l = tls.NewListener(l, f.tlsConfig(pair))
	}
	return f.serve(l)
}

// tlsConfig returns the settings of a correct server, or of one that lacks the version or the key
// exchange of the contract.
func (f *faultyWeb) tlsConfig(pair tls.Certificate) *tls.Config {
	c := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	switch f.fault {
	case "encrypts by TLS 1.2":
		c.MaxVersion = tls.VersionTLS12
	case "has no X25519":
		c.CurvePreferences = []tls.CurveID{tls.CurveP256}
	}
	return c
}

func (f *faultyWeb) serve(l net.Listener) int {
	term := make(chan os.Signal, 1) // from the runtime; one is enough
	signals := []os.Signal{syscall.SIGTERM, syscall.SIGINT}
	if f.fault == "dies of SIGINT" {
		signals = signals[:1]
	}
	signal.Notify(term, signals...)
	if f.fault == "chatters" {
		fmt.Println("ready")
	}
	if f.fault == "prints without end" {
		for text := make([]byte, 1<<20); ; {
			if _, err := os.Stdout.Write(text); err != nil {
				return 1
			}
		}
	}
	go f.accept(l)
	<-term
	if f.fault == "drops at SIGTERM" {
		return 0
	}
	l.Close()
	if f.fault != "sleeps on at SIGTERM" {
		close(f.stop)
	}
	f.handlers.Wait()
	if f.fault == "exits with 3" {
		return 3
	}
	return 0
}

func (f *faultyWeb) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		if f.visitors.Add(1) > 50 && f.fault == "takes 50" {
			c.Close()
			continue
		}
		f.handlers.Add(1)
		if f.fault == "one at a time" {
			f.handle(c)
		} else {
			go f.handle(c)
		}
	}
}

func (f *faultyWeb) handle(c net.Conn) {
	defer f.handlers.Done()
	defer c.Close()
	ended := make(chan struct{})
	defer close(ended)
	go func() { // wakes a connection that waits for a request
		select {
		case <-f.stop:
			c.SetReadDeadline(time.Now())
		case <-ended:
		}
	}()
	for in := bufio.NewReader(c); ; {
		r, err := f.read(c, in)
		switch {
		case err == nil:
		case errors.Is(err, io.EOF), errors.As(err, new(net.Error)):
			return
		case f.fault == "dies of rubbish":
			os.Exit(1)
		case f.fault == "answers rubbish":
			r, _ = http.NewRequest("GET", pagePath, nil)
		default:
			fmt.Fprint(c, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
			return
		}
		if !f.answer(c, r) || f.fault == "closes when more comes along" && in.Buffered() > 0 {
			return
		}
	}
}

// read reads a request and discards its body.
func (f *faultyWeb) read(c net.Conn, in *bufio.Reader) (*http.Request, error) {
	if f.fault == "reads once" {
		buf := make([]byte, 4096)
		n, err := c.Read(buf)
		if err != nil {
			return nil, err
		}
		in = bufio.NewReader(bytes.NewReader(buf[:n]))
		r, err := http.ReadRequest(in)
		if err != nil {
			err = errors.New("not all of it")
		}
		return r, err
	}
	r, err := http.ReadRequest(in)
	if err == nil && f.fault != "leaves bodies" {
		_, err = io.Copy(io.Discard, r.Body)
	}
	return r, err
}

// answer writes a response, and reports whether the connection stays open.
func (f *faultyWeb) answer(c net.Conn, r *http.Request) bool {
	n := f.requests.Add(1)
	f.rest(n)
	status, body := 200, f.file(r.URL.Path)
	if body == nil {
		status, body = 404, []byte("not there\n")
	}
	head := http.Header{"Content-Type": {"text/html"}}
	if f.upstream != "" {
		status, body = f.forward(c, r, head)
	}
	if f.gzip != (f.fault == "compresses for all clients") && f.fault != "does not compress" &&
		strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") != (f.fault == "compresses for all clients") {
		var zipped bytes.Buffer
		z := gzip.NewWriter(&zipped)
		z.Write(body)
		z.Close()
		body = zipped.Bytes()
		head.Set("Content-Encoding", "gzip")
	}
	if status == 200 && f.upstream == "" {
		status, body = f.fields(r, head, body)
	}
	length := len(body)
	switch f.fault {
	case "wrong length":
		length--
	case "wrong byte":
		body = bytes.Replace(body, []byte("page"), []byte("pagE"), 1)
	case "wrong type":
		head.Set("Content-Type", "text/plain")
	case "finds everything":
		status = 200
	case "wants a host":
		if r.Host == "" {
			status = 400
		}
	}
	if status != 304 {
		head.Set("Content-Length", strconv.Itoa(length))
	}
	out := bufio.NewWriter(c)
	fmt.Fprintf(out, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	head.Write(out)
	fmt.Fprint(out, "\r\n")
	if r.Method != "HEAD" || f.fault == "body after HEAD" {
		out.Write(body)
	}
	err := out.Flush()
	switch {
	case err != nil, n == 20 && f.fault == "closes after 20", status == 404 && f.fault == "closes after 404":
		return false
	case f.fault == "never closes":
		return true
	}
	return !r.Close && r.ProtoMinor == 1
}

// forward asks the upstream for the file of a request.
func (f *faultyWeb) forward(c net.Conn, r *http.Request, head http.Header) (status int, body []byte) {
	transport := http.DefaultTransport
	if f.fault == "connects for each request" {
		transport = &http.Transport{DisableKeepAlives: true}
	}
	there, err := http.NewRequest("GET", "http://"+f.upstream+r.URL.Path, nil)
	if err != nil {
		return 500, nil
	}
	if host, _, _ := net.SplitHostPort(c.RemoteAddr().String()); f.fault != "hides the client" {
		there.Header.Set("X-Forwarded-For", host)
	}
	a, err := transport.RoundTrip(there)
	if err != nil {
		return 502, nil
	}
	defer a.Body.Close()
	body, _ = io.ReadAll(a.Body)
	for _, name := range []string{numberField, clientField} {
		head.Set(name, a.Header.Get(name))
	}
	if f.fault == "caches" {
		head.Set(numberField, "1")
	}
	return a.StatusCode, body
}

// fields sets the fields about the file of a request, and returns the status and the body of the
// response to a conditional request or to one for a range.
func (f *faultyWeb) fields(r *http.Request, head http.Header, body []byte) (status int, part []byte) {
	tag, changed, now := fmt.Sprintf(`"%x"`, sha256.Sum256(body)), time.Time{}, time.Now()
	if info, err := os.Stat(filepath.Join(f.www, filepath.Clean("/"+r.URL.Path))); err == nil {
		changed = info.ModTime()
	}
	switch f.fault {
	case "the same ETag for all":
		tag = `"1"`
	case "a Last-Modified of its own":
		changed = now.Add(-time.Hour)
	case "old Date":
		now = now.Add(-time.Hour)
	}
	for name, value := range map[string]string{"ETag": tag, "Last-Modified": changed.UTC().Format(http.TimeFormat), "Date": now.UTC().Format(http.TimeFormat)} {
		if f.fault != "no "+name {
			head.Set(name, value)
		}
	}
	switch {
	case f.fault != "never 304" && (r.Header.Get("If-None-Match") == tag || r.Header.Get("If-Modified-Since") != ""):
		return 304, nil
	case f.fault == "the wrong range" && r.Header.Get("Range") == "bytes=5-14":
		return 206, body[6:16]
	case f.fault != "no ranges" && r.Header.Get("Range") == "bytes=5-14":
		return 206, body[5:15]
	}
	return 200, body
}

// file returns the file at a path, nil if there is none.
func (f *faultyWeb) file(path string) []byte {
	body, err := os.ReadFile(filepath.Join(f.www, filepath.Clean("/"+path)))
	if err != nil {
		return nil
	}
	if f.fault == "reads the page once" {
		f.first.Do(func() { f.page = body })
		return f.page
	}
	return body
}

// rest sleeps if the request with number n has to sleep.
func (f *faultyWeb) rest(n int64) {
	if f.fault == "sleeps for all" {
		f.global.Lock()
		defer f.global.Unlock()
	}
	if f.every == 0 || n%f.every != 0 || f.fault == "does not sleep" {
		return
	}
	select {
	case <-time.After(f.sleep):
	case <-f.stop:
	}
}
