//! The command line of a server of files.

use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Debug)]
pub struct Options {
    pub listen: SocketAddr,
    pub www: PathBuf,
    pub tls: Option<(PathBuf, PathBuf)>, // PEM files of the certificate and its key
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
        let (mut cert, mut key) = (String::new(), String::new());
        while let Some(flag) = args.next() {
            let mut value = || args.next().ok_or(format!("{flag} needs a value"));
            match flag.as_str() {
                "--listen" => listen = Some(address(&value()?)?),
                "--workload" => match value()?.as_str() {
                    "files" => {}
                    other => return Err(format!("--workload takes files, not {other:?}")),
                },
                "--www" => www = Some(PathBuf::from(value()?)),
                "--cert" => cert = value()?,
                "--key" => key = value()?,
                _ => return Err(format!("unknown flag {flag:?}")),
            }
        }
        if cert.is_empty() != key.is_empty() {
            return Err("TLS needs both --cert FILE and --key FILE".to_string());
        }
        Ok(Options {
            listen: listen.ok_or("--listen HOST:PORT is missing")?,
            www: www.ok_or("--www DIR is missing")?,
            tls: (!cert.is_empty()).then(|| (cert.into(), key.into())),
        })
    }
}
