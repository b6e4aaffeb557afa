//! A page over HTTP by hyper, on tokio's default runtime: a task for each connection.
//!
//! Limitations: what is not answered a second and a half after SIGTERM is cut off.

#[path = "../../http-rust-pool/src/options.rs"]
mod options;

use std::convert::Infallible;
use std::future::{poll_fn, Future};
use std::pin::pin;
use std::process::exit;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::signal::unix::{signal, SignalKind};
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};

use options::Options;

const BACKLOG: u32 = 4096;
const ACCEPT_PAUSE: Duration = Duration::from_millis(50); // rest when out of descriptors
const FINISHING: Duration = Duration::from_millis(1500);

/// What the tasks share.
struct Server {
    options: Options,
    requests: AtomicU64,
    stop: watch::Receiver<bool>, // true once, when the server stops
}

fn die(status: i32, message: &str) -> ! {
    eprintln!("http-rust-hyper: {message}");
    exit(status)
}

fn text(status: StatusCode, body: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from_static(body.as_bytes())));
    *response.status_mut() = status;
    let kind = "text/plain; charset=utf-8".parse().unwrap();
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

impl Server {
    async fn sleep_if_due(&self) {
        let n = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        if self.options.sleep_every > 0 && n % self.options.sleep_every == 0 {
            let mut stop = self.stop.clone();
            let _ = timeout(self.options.sleep, stop.wait_for(|stopping| *stopping)).await;
        }
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        if !matches!(request.uri().path(), "/" | "/page.html") {
            return text(StatusCode::NOT_FOUND, "not found\n");
        }
        if request.method() != Method::GET && request.method() != Method::HEAD {
            let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "method not allowed\n");
            let methods = "GET, HEAD".parse().unwrap();
            response.headers_mut().insert(ALLOW, methods);
            return response;
        }
        self.sleep_if_due().await;
        match tokio::fs::read(&self.options.page).await {
            Ok(page) => {
                let mut response = Response::new(Full::new(Bytes::from(page)));
                let kind = "text/html; charset=utf-8".parse().unwrap();
                response.headers_mut().insert(CONTENT_TYPE, kind);
                response
            }
            Err(_) => text(StatusCode::NOT_FOUND, "not found\n"),
        }
    }
}

/// Serves a connection until its end; when the server stops, until what is being answered is answered.
async fn serve(stream: TcpStream, server: Arc<Server>, _running: mpsc::Sender<()>) {
    let _ = stream.set_nodelay(true);
    let mut stop = server.stop.clone();
    let answer = service_fn(|request| {
        let server = server.clone();
        async move { Ok::<_, Infallible>(server.answer(request).await) }
    });
    let mut connection = pin!(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
    let mut stopped = pin!(stop.wait_for(|stopping| *stopping));
    let mut told = false;
    let ended = poll_fn(|context| {
        if !told && stopped.as_mut().poll(context).is_ready() {
            told = true;
            connection.as_mut().graceful_shutdown();
        }
        connection.as_mut().poll(context)
    });
    let _ = ended.await; // an error of a connection ends that connection only
}

/// Starts a task for each connection. Every task holds a clone of running until it ends.
async fn accept_all(listener: TcpListener, server: Arc<Server>, running: mpsc::Sender<()>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(serve(stream, server.clone(), running.clone()));
            }
            Err(_) => sleep(ACCEPT_PAUSE).await,
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
        requests: AtomicU64::new(0),
        stop: stopped.clone(),
    });
    let accepting = tokio::spawn(accept_all(listener, server, running));
    let _ = stopped.wait_for(|stopping| *stopping).await;
    accepting.abort();
    let _ = accepting.await;
    let _ = timeout(FINISHING, all_ended.recv()).await;
    Ok(())
}

fn main() {
    let options =
        Options::parse(std::env::args().skip(1)).unwrap_or_else(|message| die(2, &message));
    let address = options.listen;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    match runtime.and_then(|r| r.block_on(run(options))) {
        Ok(()) => exit(0),
        Err(e) => die(1, &format!("cannot listen on {address}: {e}")),
    }
}
