//! As much of HTTP/1.1 as a page needs: the head of a request (RFC 9112), strictly, and the head of a response.

use std::time::{SystemTime, UNIX_EPOCH};

pub const HEAD_MAX: usize = 8 << 10; // bytes of a request's head
const BODY_MAX: usize = 1 << 20; // bytes of a body that are read to be dropped

/// What the server has to know of a request.
#[derive(Debug, Default, PartialEq)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub body: usize, // bytes that follow the head
    pub close: bool, // no further request comes on the connection
    pub old: bool,   // HTTP/1.0
}

/// Why a request cannot be served: the status of the answer. The connection ends after it.
pub type Refusal = &'static str;

pub const MALFORMED: Refusal = "400 Bad Request";
pub const TOO_LARGE: Refusal = "431 Request Header Fields Too Large";

/// The length of the head that data begins with, its empty line included.
pub fn head_length(data: &[u8]) -> Option<usize> {
    data.windows(4)
        .position(|w| w == b"\r\n\r\n")
        .map(|n| n + 4)
}

/// Reads a head with its empty line.
pub fn parse(head: &[u8]) -> Result<Request, Refusal> {
    let text = std::str::from_utf8(head).map_err(|_| MALFORMED)?;
    let mut lines = text[..text.len() - 4].split("\r\n");
    let mut request = Request::default();
    request.first(lines.next().unwrap_or(""))?;
    let (mut hosts, mut lengths) = (0, 0);
    for line in lines {
        // A folded line and a blank before the colon are no tokens.
        let (name, value) = line.split_once(':').ok_or(MALFORMED)?;
        if !is_token(name) || value.contains(|c| c == '\r' || c == '\n' || c == '\0') {
            return Err(MALFORMED);
        }
        let value = value.trim_matches(|c| c == ' ' || c == '\t');
        match name.to_ascii_lowercase().as_str() {
            "host" => hosts += 1,
            "connection" => {
                request.close =
                    request.close && !lists(value, "keep-alive") || lists(value, "close");
            }
            "transfer-encoding" => return Err("501 Not Implemented"),
            "content-length" => {
                lengths += 1;
                request.body = length(value)?;
            }
            _ => {}
        }
    }
    if hosts > 1 || hosts == 0 && !request.old || lengths > 1 {
        return Err(MALFORMED);
    }
    Ok(request)
}

impl Request {
    /// Takes the request line apart.
    fn first(&mut self, line: &str) -> Result<(), Refusal> {
        let words: Vec<&str> = line.split(' ').collect();
        if words.len() != 3 || !is_token(words[0]) {
            return Err(MALFORMED);
        }
        match words[2] {
            "HTTP/1.1" => {}
            "HTTP/1.0" => {
                self.old = true;
                self.close = true;
            }
            other if other.starts_with("HTTP/") => return Err("505 HTTP Version Not Supported"),
            _ => return Err(MALFORMED),
        }
        let target = words[1].split('?').next().unwrap_or("");
        let path = match target.split_once("://") {
            Some((_, rest)) => rest.find('/').map_or("/", |at| &rest[at..]),
            None => target,
        };
        if !path.starts_with('/') && path != "*" {
            return Err(MALFORMED);
        }
        self.method = words[0].to_string();
        self.path = path.to_string();
        Ok(())
    }
}

fn is_token(text: &str) -> bool {
    let fits = |c: u8| c > b' ' && c < 0x7f && !b"\"(),/:;<=>?@[\\]{}".contains(&c);
    !text.is_empty() && text.bytes().all(fits)
}

fn lists(value: &str, option: &str) -> bool {
    value
        .split(',')
        .any(|each| each.trim().eq_ignore_ascii_case(option))
}

fn length(text: &str) -> Result<usize, Refusal> {
    if text.is_empty() || !text.bytes().all(|c| c.is_ascii_digit()) {
        return Err(MALFORMED);
    }
    match text.parse() {
        Ok(n) if n <= BODY_MAX => Ok(n),
        _ => Err("413 Content Too Large"),
    }
}

/// A response: the page, or the status in words where there is none.
pub fn response(request: &Request, status: &str, page: Option<&[u8]>) -> Vec<u8> {
    let words = format!("{}\n", status.split('\r').next().unwrap_or(""));
    let body = page.unwrap_or(words.as_bytes());
    let connection = match (request.close, request.old) {
        (true, _) => "Connection: close\r\n",
        (false, true) => "Connection: keep-alive\r\n",
        _ => "",
    };
    let kind = if page.is_some() { "html" } else { "plain" };
    let head = format!(
        "HTTP/1.1 {status}\r\nDate: {}\r\nContent-Type: text/{kind}; charset=utf-8\r\nContent-Length: {}\r\n{connection}\r\n",
        date(SystemTime::now()),
        body.len(),
    );
    let mut all = head.into_bytes();
    if request.method != "HEAD" {
        all.extend_from_slice(body);
    }
    all
}

/// A moment as HTTP writes it: Sun, 06 Nov 1994 08:49:37 GMT.
pub fn date(moment: SystemTime) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]; // the first was a Thursday
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let seconds = moment
        .duration_since(UNIX_EPOCH)
        .map_or(0, |past| past.as_secs());
    let (day, second) = (seconds / 86_400, seconds % 86_400);
    let (mut year, mut left) = (1970, day);
    let leap = |y: u64| y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
    while left >= 365 + u64::from(leap(year)) {
        left -= 365 + u64::from(leap(year));
        year += 1;
    }
    let mut month = 0;
    let february = 28 + u64::from(leap(year));
    for days in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if left < days {
            break;
        }
        left -= days;
        month += 1;
    }
    format!(
        "{}, {:02} {} {} {:02}:{:02}:{:02} GMT",
        DAYS[(day % 7) as usize],
        left + 1,
        MONTHS[month],
        year,
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, want) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (1_767_225_599, "Wed, 31 Dec 2025 23:59:59 GMT"),
        ] {
            assert_eq!(date(UNIX_EPOCH + Duration::from_secs(seconds)), want);
        }
    }

    #[test]
    fn what_is_ambiguous_is_refused() {
        for head in [
            "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\n folded: b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
            "GET / HTTP/1.1\nHost: a\r\n\r\n",
        ] {
            assert_eq!(parse(head.as_bytes()), Err(MALFORMED), "{head:?}");
        }
        let get = parse(b"GET http://a/page.html?x HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        assert_eq!((get.path.as_str(), get.close), ("/page.html", false));
    }
}
