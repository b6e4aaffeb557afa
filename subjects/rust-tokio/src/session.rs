//! A connection handled straight down by a task of its own.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;
use std::thread;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::die;
use crate::options::Options;

const READ_MAX: usize = 4096; // bytes a read may return

/// Serves stream until its end or a reset. `stop` turns true when draining starts: waits end then.
pub async fn serve(
    stream: &mut TcpStream,
    o: &Options,
    mut stop: watch::Receiver<bool>,
) -> io::Result<()> {
    let mut data = [0; READ_MAX];
    let mut part = 0; // bytes of the unfinished message
    stream.set_nodelay(true)?;
    loop {
        let n = stream.read(&mut data).await?;
        if n == 0 {
            return Ok(());
        }
        let messages = (part + n as u64) / o.size;
        part = (part + n as u64) % o.size;
        if messages > 0 && o.work_us > 0 {
            burn(Duration::from_micros(messages * o.work_us));
        }
        if messages > 0 && o.wait_ms > 0 {
            let wait = Duration::from_millis(messages * o.wait_ms);
            let _ = timeout(wait, stop.wait_for(|stopping| *stopping)).await;
        }
        if o.echo {
            stream.write_all(&data[..n]).await?;
        } else {
            print(&data[..n]);
        }
    }
}

fn burn(work: Duration) {
    let start = Instant::now();
    while start.elapsed() < work {}
}

/// Writes all of data to standard output without a buffer, before anything else happens on this thread.
fn print(mut data: &[u8]) {
    // SAFETY: descriptor 1 is never closed, neither here nor elsewhere.
    let mut out = ManuallyDrop::new(unsafe { File::from_raw_fd(1) });
    while !data.is_empty() {
        match out.write(data) {
            Ok(n) => data = &data[n..],
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) if e.kind() == ErrorKind::WouldBlock => thread::sleep(Duration::from_millis(1)),
            Err(e) => die(1, &format!("cannot write to standard output: {e}")),
        }
    }
}
