//! A coroutine per connection: tasks on tokio's default runtime, which has a worker thread for each
//! processor, work stealing, and one epoll.
//!
//! Limitations: draining relies on Linux, where a socket that was shut down for reading still yields what
//! had arrived. A slow reader of standard output holds up a worker thread, so in the end everybody.

mod options;
mod session;

use std::collections::HashSet;
use std::io::ErrorKind;
use std::os::fd::{AsRawFd, RawFd};
use std::process::exit;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime;
use tokio::signal::unix::{signal, SignalKind};
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};

use options::Options;

const BACKLOG: u32 = 4096;
const ACCEPT_PAUSE: Duration = Duration::from_millis(50); // rest when out of descriptors
const DRAIN_MAX: Duration = Duration::from_secs(1);

/// What the sessions share.
struct Server {
    options: Options,
    open: Mutex<HashSet<RawFd>>, // every descriptor in it is open: it is taken out before it is closed
    stop: watch::Receiver<bool>, // true once, when draining starts
}

pub fn die(status: i32, message: &str) -> ! {
    eprintln!("rust-tokio: {message}");
    exit(status)
}

fn raise_files() {
    let mut files = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: both calls only use the struct. Best effort: fewer files only mean fewer connections.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut files) == 0 {
            files.rlim_cur = files.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &files);
        }
    }
}

fn listen(o: &Options) -> std::io::Result<TcpListener> {
    let socket = if o.listen.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    socket.set_reuseaddr(true)?;
    socket.bind(o.listen)?;
    socket.listen(BACKLOG)
}

/// Starts a task for each connection. Every task holds a clone of running until it ends.
async fn accept_all(listener: TcpListener, server: Arc<Server>, running: mpsc::Sender<()>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                server.open.lock().unwrap().insert(stream.as_raw_fd());
                tokio::spawn(run_session(stream, server.clone(), running.clone()));
            }
            Err(e) if e.kind() == ErrorKind::ConnectionAborted => {}
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
    }
}

async fn run_session(mut stream: TcpStream, server: Arc<Server>, _running: mpsc::Sender<()>) {
    // An error is a reset: it ends this connection only.
    let _ = session::serve(&mut stream, &server.options, server.stop.clone()).await;
    server.open.lock().unwrap().remove(&stream.as_raw_fd());
}

/// Ends the reads of all connections once they have returned what had arrived.
fn shut_down_reading(server: &Server) {
    for fd in server.open.lock().unwrap().iter() {
        // SAFETY: a descriptor in open is open while the lock is held.
        unsafe { libc::shutdown(*fd, libc::SHUT_RD) };
    }
}

/// Turns stop true when one of the signals comes.
fn listen_to_signals(stop: watch::Sender<bool>) -> std::io::Result<()> {
    for kind in [SignalKind::terminate(), SignalKind::interrupt()] {
        let mut signals = signal(kind)?;
        let stop = stop.clone();
        tokio::spawn(async move {
            signals.recv().await;
            let _ = stop.send(true);
        });
    }
    Ok(())
}

async fn run(options: Options) -> std::io::Result<()> {
    let (stop, mut stopped) = watch::channel(false);
    let (running, mut all_ended) = mpsc::channel::<()>(1); // nothing is sent: it closes with the last task
    listen_to_signals(stop)?;
    let listener = listen(&options)?;
    let server = Arc::new(Server {
        options,
        open: Mutex::default(),
        stop: stopped.clone(),
    });
    let accepting = tokio::spawn(accept_all(listener, server.clone(), running));
    let _ = stopped.wait_for(|stopping| *stopping).await;
    accepting.abort();
    let _ = accepting.await;
    shut_down_reading(&server);
    let _ = timeout(DRAIN_MAX, all_ended.recv()).await;
    Ok(())
}

fn main() {
    let options =
        Options::parse(std::env::args().skip(1)).unwrap_or_else(|message| die(2, &message));
    let address = options.listen;
    raise_files();
    let runtime = runtime::Builder::new_multi_thread().enable_all().build();
    match runtime.and_then(|r| r.block_on(run(options))) {
        Ok(()) => exit(0),
        Err(e) => die(1, &format!("cannot listen on {address}: {e}")),
    }
}
