package main

import (
	"bytes"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var updatePrograms = flag.Bool("programs", false, "write the table of programs into the document")

const (
	programsDocument = "../../docs/programs-on-a-stack.md"
	programsStart    = "<!-- table: go test ./cmd/weir -run TestProgramsRunOnAStack -programs -->\n"
	programsEnd      = "<!-- end of the table -->\n"
)

// triedProgram is a program that runs on a stack, with a bad wire.
type triedProgram struct {
	name    string
	needs   []string // programs
	about   string   // what it does
	version string   // a command that prints the version
	// a shell script that runs on the stack. $HOST is this machine, $PORT a web server there, with
	// the page /page and the repository /repository.git, and $SSH an SSH server
	script string
	want   string // what the script prints
}

// untilDone repeats a command until it succeeds: a server has started.
const untilDone = `until_done() { for i in $(seq 300); do "$@" >/dev/null 2>&1 && return; sleep 0.1; done; }; `

var triedPrograms = []triedProgram{
	{"curl", []string{"curl"}, "fetches a page", "curl --version",
		`curl -s http://$HOST:$PORT/page`, greeting},
	{"wget", []string{"wget"}, "fetches a page", "wget --version",
		`wget -qO- http://$HOST:$PORT/page`, greeting},
	{"Python client", []string{"python3"}, "fetches a page with urllib", "python3 --version",
		`python3 -c "import urllib.request as u; print(u.urlopen('http://$HOST:$PORT/page').read().decode(), end='')"`, greeting},
	{"Python server", []string{"python3", "curl"}, "http.server, read by curl", "python3 --version",
		`echo page > page; python3 -m http.server 8000 >log 2>&1 & until_done curl http://127.0.0.1:8000/; curl -s http://127.0.0.1:8000/page`, "page\n"},
	{"Node.js", []string{"node"}, "fetches a page, and serves one to itself", "node --version",
		`node -e "const h=require('http');const s=h.createServer((q,r)=>r.end('node\n')).listen(8000,async()=>{for(const u of ['http://$HOST:$PORT/page','http://localhost:8000/'])process.stdout.write(await (await fetch(u)).text());s.close();s.closeAllConnections()})"`, greeting + "node\n"},
	{"nginx", []string{"nginx", "curl"}, "two workers serve a page to curl", "nginx -v 2>&1",
		`echo page > page; echo "daemon off; pid $PWD/pid; worker_processes 2; events {} http { access_log off; client_body_temp_path $PWD/t1; proxy_temp_path $PWD/t2; fastcgi_temp_path $PWD/t3; uwsgi_temp_path $PWD/t4; scgi_temp_path $PWD/t5; server { listen 8080; listen [::]:8080; root $PWD; } }" > conf; nginx -e $PWD/log -c $PWD/conf & until_done curl http://127.0.0.1:8080/; curl -s http://127.0.0.1:8080/page; curl -s http://[::1]:8080/page`, "page\npage\n"},
	{"Redis", []string{"redis-server", "redis-cli"}, "redis-server with redis-cli", "redis-server --version",
		`redis-server --port 6379 --save '' >log & until_done redis-cli ping; redis-cli set key 7; redis-cli get key; redis-cli shutdown`, "OK\n7\n"},
	{"PostgreSQL", []string{"psql"}, "postgres with psql by TCP", "psql --version",
		`bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1); $bin/initdb -A trust -U user -D data >log 2>&1; $bin/postgres -D data -k $PWD -h 127.0.0.1 -p 5433 >>log 2>&1 & until_done $bin/pg_isready -h 127.0.0.1 -p 5433; psql -h 127.0.0.1 -p 5433 -U user -Atc "select 6*7" postgres`, "42\n"},
	{"Git", []string{"git"}, "clones a repository by HTTP", "git --version",
		`git clone -q http://$HOST:$PORT/repository.git clone && cat clone/file`, greeting},
	{"OpenSSH", []string{"ssh", "sshd", "ssh-keygen"}, "ssh runs a command at a server of the machine", "ssh -V 2>&1",
		`ssh -i key -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -p $SSH $SSHUSER@$HOST echo by ssh`, "by ssh\n"},
	{"Weir", []string{"curl"}, "weir serve run serves a page to curl: a static Go program", "echo",
		`echo page > page; $WEIR serve run . --listen 127.0.0.1:8000 2>log & until_done curl http://127.0.0.1:8000/; curl -s http://127.0.0.1:8000/page; kill $!; wait $!`, "page\n"},
	{"Java", []string{"java", "javac"}, "HttpClient, and a ServerSocket with a Socket", "java -version 2>&1",
		`java -Xshare:auto T.java http://$HOST:$PORT/page`, greeting + "7\n"},
	{"Bash", []string{"bash"}, "/dev/tcp", "bash --version",
		`bash -c 'exec 3<>/dev/tcp/$HOST/$PORT; printf "GET /page HTTP/1.0\r\n\r\n" >&3; tail -n 1 <&3'`, greeting},
}

// javaProgram is the Java program of the table.
const javaProgram = `import java.net.*; import java.net.http.*;
public class T { public static void main(String[] a) throws Exception {
  var r = HttpRequest.newBuilder(URI.create(a[0])).build();
  System.out.print(HttpClient.newHttpClient().send(r, HttpResponse.BodyHandlers.ofString()).body());
  try (var s = new ServerSocket(0); var c = new Socket("localhost", s.getLocalPort()); var p = s.accept()) {
    c.getOutputStream().write(7); System.out.println(p.getInputStream().read()); } } }
`

// TestProgramsRunOnAStack runs each program as an ordinary user, with 1 % loss and 20 ms of delay
// in each direction. The document has a table of what works.
func TestProgramsRunOnAStack(t *testing.T) {
	port, ssh := pageServer(t), sshServer(t)
	var rows strings.Builder
	for _, p := range triedPrograms {
		t.Run(p.name, func(t *testing.T) {
			for _, need := range p.needs {
				if !isInstalled(need) {
					t.Skipf("%s is not installed: scripts/setup test or scripts/setup peers installs it", need)
				}
			}
			fmt.Fprintf(&rows, "| %s | %s | %s |\n", p.name, p.try(t, port, ssh), p.about)
		})
	}
	if !t.Failed() {
		checkProgramsDocument(t, rows.String())
	}
}

// isInstalled reports whether a program is there for ordinary users.
func isInstalled(name string) bool {
	for _, dir := range []string{"/usr/bin", "/usr/sbin", "/bin", "/sbin"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// pageServer serves the files of a folder, a Git repository among them, and returns its port.
func pageServer(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "page"), []byte(greeting), 0o644); err != nil {
		t.Fatal(err)
	}
	if isInstalled("git") {
		c := exec.Command("sh", "-ec", `git init -q work; cp page work/file; cd work; git add file; git -c user.name=a -c user.email=a@b.example commit -qm first; git clone -q --bare . ../repository.git; git -C ../repository.git update-server-info`)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("making a repository: %v: %s", err, out)
		}
	}
	s := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(s.Close)
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	return port
}

// sshAccess is an SSH server that accepts a key.
type sshAccess struct{ user, port, key string }

// sshServer starts an SSH server of this machine for the user of the test; the zero value: it is
// not installed.
func sshServer(t *testing.T) (s sshAccess) {
	t.Helper()
	if !isInstalled("sshd") {
		return s
	}
	own, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"host", "key"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, name)).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v: %s", err, out)
		}
	}
	os.MkdirAll("/run/sshd", 0o755) //nolint:errcheck // sshd says that it is missing
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	c := exec.Command("/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null", "-p", port, "-h", filepath.Join(dir, "host"), "-o", "ListenAddress=127.0.0.1", "-o", "PidFile=none",
		"-o", "UsePAM=no", "-o", "StrictModes=no", "-o", "AuthorizedKeysFile="+filepath.Join(dir, "key.pub"))
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	return sshAccess{own.Username, port, filepath.Join(dir, "key")}
}

// try runs the program on a stack, and returns its version.
func (p *triedProgram) try(t *testing.T, port string, ssh sshAccess) (version string) {
	t.Helper()
	c := execCommand(t, "--impair", "loss=1%,delay=20ms", "--seed", "1", "--loopback", "192.0.2.1", "sh", "-c", untilDone+p.script)
	c.Env = append(c.Env, "HOST=192.0.2.1", "PORT="+port, "SSH="+ssh.port, "SSHUSER="+ssh.user, "WEIR="+binary(t))
	if err := os.WriteFile(filepath.Join(c.Dir, "T.java"), []byte(javaProgram), 0o644); err != nil {
		t.Fatal(err)
	}
	if ssh.key != "" {
		copyKey(t, ssh.key, filepath.Join(c.Dir, "key"))
	}
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	if err != nil || string(out) != p.want || said.Len() > 0 {
		t.Fatalf("got %q, %v and the messages %q, want %q alone", out, err, said.String(), p.want)
	}
	v := exec.Command("sh", "-c", p.version)
	v.Env = c.Env
	text, _ := v.Output()
	if version = versionNumber.FindString(string(text)); version == "" {
		version = "this one"
	}
	return version
}

// copyKey gives a key to the user of the programs.
func copyKey(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err == nil && os.Getuid() == 0 {
		err = os.Chown(to, unprivileged, unprivileged)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// versionNumber is the number of a version.
var versionNumber = regexp.MustCompile(`[0-9]+[.0-9]*[0-9]`)

// checkProgramsDocument compares the programs of the document with those that were tried; with
// -programs it writes them.
func checkProgramsDocument(t *testing.T, rows string) {
	t.Helper()
	text, err := os.ReadFile(programsDocument)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), programsStart)
	_, after, ok2 := strings.Cut(rest, programsEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no table between %q and %q", programsDocument, programsStart, programsEnd)
	}
	if *updatePrograms {
		table := "\n| program | version | what it does |\n| --- | --- | --- |\n" + rows + "\n"
		if err := os.WriteFile(programsDocument, []byte(before+programsStart+table+programsEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, p := range triedPrograms {
		if !strings.Contains(rest, "\n| "+p.name+" | ") {
			t.Errorf("%s has no row of %s: run this test with -programs", programsDocument, p.name)
		}
	}
}
