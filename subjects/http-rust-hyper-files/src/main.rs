//! Files over HTTP and HTTPS by hyper, tokio and rustls: a task for each connection.
//!
//! Limitations: no ranges. What is not answered a second and a half after SIGTERM is cut off.

mod files;
mod options;

use std::convert::Infallible;
use std::future::{poll_fn, Future};
use std::pin::pin;
use std::process::exit;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{HeaderValue, ALLOW, CONTENT_TYPE, ETAG, IF_NONE_MATCH, LAST_MODIFIED};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::signal::unix::{signal, SignalKind};
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{version::TLS13, ServerConfig};
use tokio_rustls::TlsAcceptor;

use files::Files;
use options::Options;

const BACKLOG: u32 = 4096;
const THREADS: usize = 2; // that compute at once, as in every server of the workload files
const ACCEPT_PAUSE: Duration = Duration::from_millis(50); // rest when out of descriptors
const FINISHING: Duration = Duration::from_millis(1500);

/// What the tasks share.
struct Server {
    files: Files,
    tls: Option<TlsAcceptor>,
    stop: watch::Receiver<bool>, // true once, when the server stops
}

fn die(status: i32, message: &str) -> ! {
    eprintln!("http-rust-hyper-files: {message}");
    exit(status)
}

fn text(status: StatusCode, body: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from_static(body.as_bytes())));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

impl Server {
    fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        if request.method() != Method::GET && request.method() != Method::HEAD {
            let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "method not allowed\n");
            let methods = HeaderValue::from_static("GET, HEAD");
            response.headers_mut().insert(ALLOW, methods);
            return response;
        }
        let Some(file) = self.files.find(request.uri().path()) else {
            return text(StatusCode::NOT_FOUND, "not found\n");
        };
        let known = request.headers().get(IF_NONE_MATCH) == Some(&file.tag);
        let mut response = Response::new(Full::new(if known {
            Bytes::new()
        } else {
            file.text.clone()
        }));
        if known {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        } else {
            response
                .headers_mut()
                .insert(CONTENT_TYPE, file.kind.clone());
        }
        let fields = response.headers_mut();
        fields.insert(ETAG, file.tag.clone());
        fields.insert(LAST_MODIFIED, file.modified.clone());
        response
    }
}

/// Starts TLS on a connection, if the server has it, and serves the connection until its end.
async fn serve(stream: TcpStream, server: Arc<Server>, _running: mpsc::Sender<()>) {
    let _ = stream.set_nodelay(true);
    match &server.tls {
        None => exchange(stream, server.clone()).await,
        Some(tls) => {
            if let Ok(stream) = tls.accept(stream).await {
                exchange(stream, server.clone()).await
            }
        }
    }
}

/// Serves requests; when the server stops, until what is being answered is answered.
async fn exchange(stream: impl AsyncRead + AsyncWrite + Unpin + 'static, server: Arc<Server>) {
    let mut stop = server.stop.clone();
    let answer = service_fn(|request| {
        let response = server.answer(request);
        async move { Ok::<_, Infallible>(response) }
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

/// Returns the TLS that all compared servers use: 1.3, X25519, AES-128-GCM.
fn encryption(o: &Options) -> Result<Option<TlsAcceptor>, Box<dyn std::error::Error>> {
    let Some((cert, key)) = &o.tls else {
        return Ok(None);
    };
    let chain = CertificateDer::pem_file_iter(cert)?.collect::<Result<Vec<_>, _>>()?;
    let mut provider = ring::default_provider();
    provider.cipher_suites = vec![ring::cipher_suite::TLS13_AES_128_GCM_SHA256];
    provider.kx_groups = vec![ring::kx_group::X25519];
    let config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::from_pem_file(key)?)?;
    Ok(Some(TlsAcceptor::from(Arc::new(config))))
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

async fn run(options: Options, tls: Option<TlsAcceptor>) -> std::io::Result<()> {
    let (stop, mut stopped) = watch::channel(false);
    let (running, mut all_ended) = mpsc::channel::<()>(1); // nothing is sent: it closes with the last task
    listen_to_signals(stop)?;
    let listener = listen(&options)?;
    let server = Arc::new(Server {
        files: Files::new(options.www),
        tls,
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
    let tls = encryption(&options).unwrap_or_else(|e| die(1, &format!("cannot use TLS: {e}")));
    let address = options.listen;
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads.min(THREADS))
        .enable_all()
        .build();
    match runtime.and_then(|r| r.block_on(run(options, tls))) {
        Ok(()) => exit(0),
        Err(e) => die(1, &format!("cannot listen on {address}: {e}")),
    }
}
