//! The command line that every HTTP subject understands, as far as it concerns a page.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

const NUMBER_MAX: u64 = 1_000_000_000;

#[derive(Debug)]
pub struct Options {
    pub listen: SocketAddr,
    pub page: PathBuf,
    pub sleep: Duration,  // of every sleep_every-th request
    pub sleep_every: u64, // 0: none
}

fn number(flag: &str, text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(n) if n <= NUMBER_MAX => Ok(n),
        _ => Err(format!(
            "{flag} takes a number from 0 to {NUMBER_MAX}, not {text:?}"
        )),
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    match text.parse::<SocketAddr>() {
        Ok(address) if address.port() > 0 => Ok(address),
        _ => Err(format!(
            "--listen takes HOST:PORT, both as numbers, not {text:?}"
        )),
    }
}

impl Options {
    /// Reads the arguments; an error is one sentence that says what is wrong.
    pub fn parse(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
        let (mut listen, mut www) = (None, None);
        let (mut sleep_ms, mut sleep_every) = (0, 0);
        while let Some(flag) = args.next() {
            let mut value = || args.next().ok_or(format!("{flag} needs a value"));
            match flag.as_str() {
                "--listen" => listen = Some(address(&value()?)?),
                "--workload" => match value()?.as_str() {
                    "page" => {}
                    other => return Err(format!("--workload takes page, not {other:?}")),
                },
                "--www" => www = Some(PathBuf::from(value()?)),
                "--sleep-ms" => sleep_ms = number(&flag, &value()?)?,
                "--sleep-every" => sleep_every = number(&flag, &value()?)?,
                _ => return Err(format!("unknown flag {flag:?}")),
            }
        }
        Ok(Options {
            listen: listen.ok_or("--listen HOST:PORT is missing")?,
            page: www.ok_or("--www DIR is missing")?.join("page.html"),
            sleep: Duration::from_millis(sleep_ms),
            sleep_every,
        })
    }
}
