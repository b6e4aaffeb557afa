//! A page over HTTP by a pool of threads, each of which serves one connection to its end. Rust's standard library alone.
//!
//! Limitations: a connection beyond the pool's size waits until another has ended. What is not answered a second and
//! a half after SIGTERM is cut off.

mod http;
mod options;

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::io::{AsRawFd, RawFd};
use std::process::exit;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::mpsc::{channel, Receiver};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use http::{Request, HEAD_MAX};
use options::Options;

const THREADS: usize = 512;
const STACK: usize = 256 << 10; // bytes of a thread's
const BACKLOG: i32 = 4096;
const ACCEPT_PAUSE: Duration = Duration::from_millis(50); // rest when out of descriptors
const FINISHING: Duration = Duration::from_millis(1500);
const LINGERING: Duration = Duration::from_millis(500); // for a client to read why it was refused

const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;
const SHUT_RD: i32 = 0;
const SHUT_RDWR: i32 = 2;

// What the standard library has no word for.
extern "C" {
    fn signal(number: i32, handler: extern "C" fn(i32)) -> usize;
    fn listen(fd: RawFd, backlog: i32) -> i32;
    fn shutdown(fd: RawFd, how: i32) -> i32;
}

static STOPPING: AtomicBool = AtomicBool::new(false);
static LISTENER: AtomicI32 = AtomicI32::new(-1);

/// Ends the accepting. Both things that it does are allowed in a signal handler.
extern "C" fn stop(_: i32) {
    STOPPING.store(true, Ordering::SeqCst);
    // SAFETY: the listener is open until the program ends.
    unsafe { shutdown(LISTENER.load(Ordering::SeqCst), SHUT_RDWR) };
}

/// What a thread of the pool does.
#[derive(Clone, Copy, PartialEq)]
enum Doing {
    Nothing,
    Waiting(RawFd), // for a request; the descriptor is open while this stands here
    Answering,
}

struct Server {
    options: Options,
    requests: AtomicU64,
    threads: Vec<Mutex<Doing>>,
    sleepers: Mutex<()>,
    wake: Condvar, // of sleepers, when the server stops
}

fn die(status: i32, message: &str) -> ! {
    eprintln!("http-rust-pool: {message}");
    exit(status)
}

impl Server {
    /// Notes what a thread does from now on; false when the server stops and it should not wait for a request.
    fn now(&self, thread: usize, doing: Doing) -> bool {
        let mut current = self.threads[thread].lock().unwrap();
        *current = doing;
        !STOPPING.load(Ordering::SeqCst)
    }

    fn sleep_if_due(&self) {
        let n = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        if self.options.sleep_every == 0 || n % self.options.sleep_every != 0 {
            return;
        }
        let asleep = self.sleepers.lock().unwrap();
        let stopped = |_: &mut ()| !STOPPING.load(Ordering::SeqCst);
        drop(
            self.wake
                .wait_timeout_while(asleep, self.options.sleep, stopped),
        );
    }

    fn answer(&self, request: &Request) -> Vec<u8> {
        if request.path != "/" && request.path != "/page.html" {
            return http::response(request, "404 Not Found", None);
        }
        if request.method != "GET" && request.method != "HEAD" {
            return http::response(request, "405 Method Not Allowed\r\nAllow: GET, HEAD", None);
        }
        self.sleep_if_due();
        match std::fs::read(&self.options.page) {
            Ok(page) => http::response(request, "200 OK", Some(&page)),
            Err(_) => http::response(request, "404 Not Found", None),
        }
    }

    /// Serves a connection until its end, an error, or a stop.
    fn serve(&self, thread: usize, stream: &mut TcpStream) -> std::io::Result<()> {
        stream.set_nodelay(true)?;
        let mut data = Vec::with_capacity(HEAD_MAX); // read, and not yet answered
        loop {
            let head = loop {
                if let Some(n) = http::head_length(&data) {
                    break n;
                }
                if data.len() >= HEAD_MAX {
                    return refuse(stream, http::TOO_LARGE);
                }
                if !self.now(thread, Doing::Waiting(stream.as_raw_fd())) {
                    return Ok(());
                }
                let n = more(stream, &mut data)?;
                self.now(thread, Doing::Answering);
                if n == 0 {
                    return Ok(());
                }
            };
            let request = match http::parse(&data[..head]) {
                Ok(request) => request,
                Err(status) => return refuse(stream, status),
            };
            while data.len() < head + request.body {
                if more(stream, &mut data)? == 0 {
                    return Ok(());
                }
            }
            data.drain(..head + request.body);
            stream.write_all(&self.answer(&request))?;
            if request.close || STOPPING.load(Ordering::SeqCst) {
                return Ok(());
            }
        }
    }

    fn work(&self, thread: usize, connections: &Mutex<Receiver<TcpStream>>) {
        loop {
            let next = connections.lock().unwrap().recv();
            let mut stream = match next {
                Ok(stream) => stream,
                Err(_) => return, // nobody accepts any more
            };
            let _ = self.serve(thread, &mut stream); // an error is a reset: it ends this connection only
            self.now(thread, Doing::Nothing); // before the descriptor is closed
        }
    }

    /// Wakes all that sleep or wait, and lets the others finish.
    fn finish(&self) {
        drop(self.sleepers.lock().unwrap());
        self.wake.notify_all();
        let end = Instant::now() + FINISHING;
        for thread in &self.threads {
            if let Doing::Waiting(fd) = *thread.lock().unwrap() {
                // SAFETY: the descriptor is open while it stands there.
                unsafe { shutdown(fd, SHUT_RD) };
            }
        }
        let busy = |t: &Mutex<Doing>| *t.lock().unwrap() != Doing::Nothing;
        while self.threads.iter().any(busy) && Instant::now() < end {
            thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Reads what there is, and says how much.
fn more(stream: &mut TcpStream, data: &mut Vec<u8>) -> std::io::Result<usize> {
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
            Ok(n) => {
                data.extend_from_slice(&buffer[..n]);
                return Ok(n);
            }
        }
    }
}

/// Says why, and closes. The client may still be sending: closed at once, the connection would be reset and the answer lost.
fn refuse(stream: &mut TcpStream, status: http::Refusal) -> std::io::Result<()> {
    let last = Request {
        close: true,
        ..Request::default()
    };
    stream.write_all(&http::response(&last, status, None))?;
    stream.shutdown(Shutdown::Write)?;
    let end = Instant::now() + LINGERING;
    stream.set_read_timeout(Some(LINGERING))?;
    let mut rest = [0; 4096];
    while Instant::now() < end && stream.read(&mut rest)? > 0 {}
    Ok(())
}

fn bind(options: &Options) -> std::io::Result<TcpListener> {
    let listener = TcpListener::bind(options.listen)?;
    LISTENER.store(listener.as_raw_fd(), Ordering::SeqCst);
    // SAFETY: the descriptor is the listener's. To listen again changes the backlog, which bind does not ask for.
    unsafe {
        listen(listener.as_raw_fd(), BACKLOG);
        signal(SIGTERM, stop);
        signal(SIGINT, stop);
    }
    Ok(listener)
}

fn main() {
    let options =
        Options::parse(std::env::args().skip(1)).unwrap_or_else(|message| die(2, &message));
    let address = options.listen;
    let listener =
        bind(&options).unwrap_or_else(|e| die(1, &format!("cannot listen on {address}: {e}")));
    let server = Arc::new(Server {
        options,
        requests: AtomicU64::new(0),
        threads: (0..THREADS).map(|_| Mutex::new(Doing::Nothing)).collect(),
        sleepers: Mutex::new(()),
        wake: Condvar::new(),
    });
    let (accepted, connections) = channel();
    let connections = Arc::new(Mutex::new(connections));
    for i in 0..THREADS {
        let (server, connections) = (server.clone(), connections.clone());
        let thread = thread::Builder::new().stack_size(STACK);
        if let Err(e) = thread.spawn(move || server.work(i, &connections)) {
            die(1, &format!("cannot start a thread: {e}"));
        }
    }
    while !STOPPING.load(Ordering::SeqCst) {
        match listener.accept() {
            Ok((stream, _)) => accepted.send(stream).unwrap_or(()),
            Err(_) if STOPPING.load(Ordering::SeqCst) => {}
            Err(e) if e.kind() == ErrorKind::ConnectionAborted => {}
            Err(_) => thread::sleep(ACCEPT_PAUSE),
        }
    }
    server.finish();
    exit(0);
}
