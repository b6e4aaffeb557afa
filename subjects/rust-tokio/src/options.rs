//! The command line that every subject understands.

use std::net::SocketAddr;

const NUMBER_MAX: u64 = 1_000_000_000;

#[derive(Debug, PartialEq)]
pub struct Options {
    pub listen: SocketAddr,
    pub echo: bool,
    pub size: u64,    // bytes a message, at least 1
    pub work_us: u64, // to burn for each message
    pub wait_ms: u64, // to wait for each message
}

fn number(flag: &str, text: &str, low: u64) -> Result<u64, String> {
    match text.parse() {
        Ok(n) if (low..=NUMBER_MAX).contains(&n) => Ok(n),
        _ => Err(format!(
            "{flag} takes a number from {low} to {NUMBER_MAX}, not {text:?}"
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
        let mut listen = None;
        let (mut echo, mut size, mut work_us, mut wait_ms) = (false, 1000, 0, 0);
        while let Some(flag) = args.next() {
            let mut value = || args.next().ok_or(format!("{flag} needs a value"));
            match flag.as_str() {
                "--listen" => listen = Some(address(&value()?)?),
                "--workload" => echo = workload(&value()?)?,
                "--size" => size = number(&flag, &value()?, 1)?,
                "--work-us" => work_us = number(&flag, &value()?, 0)?,
                "--wait-ms" => wait_ms = number(&flag, &value()?, 0)?,
                _ => return Err(format!("unknown flag {flag:?}")),
            }
        }
        let listen = listen.ok_or("--listen HOST:PORT is missing")?;
        Ok(Options {
            listen,
            echo,
            size,
            work_us,
            wait_ms,
        })
    }
}

fn workload(text: &str) -> Result<bool, String> {
    match text {
        "sink" => Ok(false),
        "echo" => Ok(true),
        _ => Err(format!("--workload takes sink or echo, not {text:?}")),
    }
}
